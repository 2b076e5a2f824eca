/**
 * What is recorded of the call of a sub-step, to compare with the next call under the same path.
 *
 * @since 0.1.0
 */

/**
 * What is recorded of the call of a sub-step. Each field is absent if the call did not give it.
 *
 * - `input`: the fingerprint of its input. A call with another one is refused.
 * - `version`: a call with another one drops the sub-step and all recorded after it.
 * - `idempotent: false`: it must not run twice.
 * - `transient: true`: it failed with what looked transient.
 *
 * @category model
 * @since 0.1.0
 */
export interface SubStep {
  readonly input?: string
  readonly version?: string
  readonly idempotent?: false
  readonly transient?: true
}
