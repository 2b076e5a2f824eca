/**
 * The ids of artifacts.
 *
 * @module
 */
export { parse } from '../domain/data/ArtifactId.js'
