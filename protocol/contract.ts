/**
 * One request that an actor answers: what is asked, what is answered, how long an answer may take.
 */
export interface Request<Ask, Answer> {
  readonly withinMs: number
  /** Types only: never there at run time. */
  readonly types?: (ask: Ask) => Answer
}

export type Contract = Readonly<Record<string, Request<never, unknown>>>

/** Declares a request. A client's call rejects (`unavailable`) when no answer came in time. */
export const request = <Ask, Answer>(
  options: { readonly withinMs?: number } = {},
): Request<Ask, Answer> => ({ withinMs: options.withinMs ?? 30_000 })

type AskOf<R> = R extends Request<infer Ask, unknown> ? Ask : never
type AnswerOf<R> = R extends Request<never, infer Answer> ? Answer : never

/** The asking end: one function a request. */
export type Client<C extends Contract> = {
  readonly [K in keyof C]: (
    ...ask: AskOf<C[K]> extends void ? [] : [ask: AskOf<C[K]>]
  ) => Promise<AnswerOf<C[K]>>
}

/** The answering end: a missing handler does not compile. */
export type Handlers<C extends Contract> = {
  readonly [K in keyof C]: (ask: AskOf<C[K]>) => AnswerOf<C[K]> | Promise<AnswerOf<C[K]>>
}
