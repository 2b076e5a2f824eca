/**
 * Fingerprints as people read them.
 *
 * @since 0.1.0
 */

/**
 * The text with its fingerprints cut to 12 digits. They say no more than their beginning; programs get them whole.
 *
 * @category combinators
 * @since 0.1.0
 */
export const shortened = (text: string): string => text.replace(/\b(v\d+:[0-9a-f]{12})[0-9a-f]{52}\b/g, '$1')
