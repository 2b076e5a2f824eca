/** Lists the artifacts of a run. */
import * as E from 'fp-ts/lib/Either.js'
import type { JsonObject } from '../../domain/data/Json.js'
import { describeArtifact } from '../../executor/storage/portErrors.js'
import type { ArtifactError, ArtifactInfo } from '../../ports/ArtifactStore.js'
import type { Style } from '../terminal/Style.js'

/** A failed listing must not keep the rest of a run from being shown. */
type Listed = E.Either<ArtifactError, ReadonlyArray<ArtifactInfo>>

export const artifactLines = (listed: Listed, style: Style): ReadonlyArray<string> => {
  if (E.isLeft(listed)) return ['', style.yellow(describeArtifact(listed.left))]
  if (listed.right.length === 0) return []
  const widest = Math.max(...listed.right.map(({ size }) => String(size).length))
  return [
    '',
    style.bold('artifacts'),
    ...listed.right.map(({ id, size, sha256 }) => `  ${String(size).padStart(widest)} bytes  sha256 ${sha256}  ${id}`)
  ]
}

export const artifactsJson = (listed: Listed): JsonObject =>
  E.isLeft(listed)
    ? { artifacts: { error: { code: listed.left._tag, message: describeArtifact(listed.left) } } }
    : { artifacts: listed.right.map(({ id, size, sha256 }) => ({ id, size, sha256 })) }
