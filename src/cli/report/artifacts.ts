/**
 * The artifacts of a run, as `show` lists them.
 *
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import { isSystem } from '../../domain/ArtifactId.js'
import type { JsonObject } from '../../domain/Json.js'
import { describeArtifact } from '../../executor/RunError.js'
import type { ArtifactError, ArtifactInfo } from '../../ports/ArtifactStore.js'
import type { Style } from '../terminal/Style.js'

/** What a store listed, or why it could not. That does not keep the rest of a run from being shown. */
type Listed = E.Either<ArtifactError, ReadonlyArray<ArtifactInfo>>

/**
 * Lines for people: size, digest and id of each artifact. What Dogear keeps for itself is counted.
 *
 * @category destructors
 * @since 0.1.0
 */
export const artifactLines = (listed: Listed, style: Style): ReadonlyArray<string> => {
  if (E.isLeft(listed)) return ['', style.yellow(describeArtifact(listed.left))]
  const own = listed.right.filter(({ id }) => !isSystem(id))
  const memos = listed.right.length - own.length
  const widest = Math.max(0, ...own.map(({ size }) => String(size).length))
  return [
    ...(own.length === 0 ? [] : ['', style.bold('artifacts')]),
    ...own.map(({ id, size, sha256 }) => `  ${String(size).padStart(widest)} bytes  sha256 ${sha256}  ${id}`),
    ...(memos === 0 ? [] : ['', `${style.dim('memo'.padEnd(10))}${memos} kept`])
  ]
}

/**
 * The same for programs, with what Dogear keeps for itself.
 *
 * @category destructors
 * @since 0.1.0
 */
export const artifactsJson = (listed: Listed): JsonObject =>
  E.isLeft(listed)
    ? { artifacts: { error: { code: listed.left._tag, message: describeArtifact(listed.left) } } }
    : { artifacts: listed.right.map(({ id, size, sha256 }) => ({ id, size, sha256 })) }
