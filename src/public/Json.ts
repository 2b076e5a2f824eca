/**
 * Functions on JSON.
 *
 * @module
 */
export { canonical, equals, fromUnknown } from '../domain/data/Json.js'
