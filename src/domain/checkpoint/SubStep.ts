/** The recorded call of a sub-step. Later calls with the same path are compared with it. */

/**
 * The recorded call of a sub-step. A field is absent if the call did not have that option.
 *
 * - `input`: the fingerprint of its input. A call with another input is refused.
 * - `version`: a call with another version drops the sub-step and all recorded after it.
 * - `idempotent: false`: it must not run twice.
 * - `wait`: it was a `sleep` (`Timer`) or a `waitFor` (`Answer`). A call of another kind is refused.
 * - `transient: true`: it failed, and its error looked transient.
 *
 * @category model
 */
export interface SubStep {
  readonly input?: string
  readonly version?: string
  readonly idempotent?: false
  readonly wait?: 'Timer' | 'Answer'
  readonly transient?: true
}
