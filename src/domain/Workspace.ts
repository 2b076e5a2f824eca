/**
 * Where a run works.
 *
 * @since 0.1.0
 */

/**
 * The folder that a run works in, absolute, if it has one: a resume works in the same.
 *
 * @category model
 * @since 0.1.0
 */
export interface Workspace {
  readonly kind: 'directory'
  readonly path: string
}
