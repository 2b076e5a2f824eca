/**
 * The types of fp-ts that Dogear's signatures name, so that they need no package. A test compares them with those of fp-ts: each is
 * assignable to the other.
 */
export interface Left<E> {
  readonly _tag: 'Left'
  readonly left: E
}
export interface Right<A> {
  readonly _tag: 'Right'
  readonly right: A
}
export type Either<E, A> = Left<E> | Right<A>

export interface None {
  readonly _tag: 'None'
}
export interface Some<A> {
  readonly _tag: 'Some'
  readonly value: A
}
export type Option<A> = None | Some<A>

export interface Task<A> {
  (): Promise<A>
}
export type TaskEither<E, A> = Task<Either<E, A>>
export interface ReaderTaskEither<R, E, A> {
  (environment: R): TaskEither<E, A>
}

export type ReadonlyNonEmptyArray<A> = ReadonlyArray<A> & { readonly 0: A }
