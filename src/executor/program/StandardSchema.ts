/** The interface that zod, valibot, arktype and others share (https://standardschema.dev). Declared here to avoid a dependency. */

/**
 * A schema of any library that follows Standard Schema, version 1. A schema that returns a promise from `validate` is refused when it is
 * used, because a plan reads recorded values without waiting.
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    /** Checks a value, and returns what it becomes. */
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>
    /** Only a type: what the schema takes and what it returns. */
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
  }
}

/** A validated value, or the reasons why there is none. */
export type StandardResult<Output> =
  { readonly value: Output; readonly issues?: undefined } | { readonly issues: ReadonlyArray<StandardIssue> }

/** One reason why a value is invalid. `path` leads to it by keys, or by objects that hold one. */
export interface StandardIssue {
  readonly message: string
  readonly path?: ReadonlyArray<PropertyKey | { readonly key: PropertyKey }> | undefined
}

/** The type that a schema takes; `unknown` if it declares no `types`. */
// `version` is required in these two types, because all other fields are optional: TypeScript would call a schema without `types` unrelated.
export type SchemaInput<S extends StandardSchema> = S extends {
  readonly '~standard': { readonly version: 1; readonly types?: infer Types }
}
  ? NonNullable<Types> extends { readonly input: infer Input }
    ? Input
    : unknown
  : unknown

/** The type that a schema returns; that of `validate` if it declares no `types`. */
export type SchemaOutput<S extends StandardSchema> = S extends {
  readonly '~standard': { readonly version: 1; readonly types?: infer Types }
}
  ? NonNullable<Types> extends { readonly output: infer Output }
    ? Output
    : Extract<Awaited<ReturnType<S['~standard']['validate']>>, { readonly value: unknown }>['value']
  : unknown
