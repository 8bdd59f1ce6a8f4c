/**
 * Every error that the edge itself returns. Codes below 900 and above 999 are those of the manager's API, with its texts
 * byte for byte; 900 to 949 are the edge's own. Every other code comes from a node and passes unchanged.
 * docs/errors.md is generated from the table `errors.json`. And suggestions for misspelled names, which clients get with an
 * error, and operators in its text.
 */
import { distance } from 'fastest-levenshtein'
import written from './errors.json' with { type: 'json' }

export interface ErrorDefinition {
  readonly status: number
  readonly message: string
  /** What the client or the operator can do. For documents and commands; not part of the response. */
  readonly remedy: string
  /** Which operations have this error, for documents. Absent: those that call a node if the status is 5xx, else all. */
  readonly of?: string
}

/** The keys of a JSON file are texts, and codes are numbers. */
export type CodeOf<Key> = Key extends number ? Key : Key extends `${infer Code extends number}` ? Code : never
export type ErrorCode = CodeOf<keyof typeof written>

export const errorTable: Readonly<Record<ErrorCode, ErrorDefinition>> = written

/** An error response of the edge. `detail` is appended to the message; `headers` are added to the response. */
export class EdgeError extends Error {
  readonly code: ErrorCode
  readonly status: number
  readonly headers: Readonly<Record<string, string>>

  constructor(
    code: ErrorCode,
    detail = '',
    options: { headers?: Readonly<Record<string, string>>; cause?: unknown } = {},
  ) {
    super(errorTable[code].message + detail, { cause: options.cause })
    this.name = 'EdgeError'
    this.code = code
    this.status = errorTable[code].status
    this.headers = options.headers ?? {}
  }
}

/** Returns `Retry-After` (RFC 9110 section 10.2.3): whole seconds, at least one. */
export function retryAfter(milliseconds: number): { readonly 'retry-after': string } {
  return { 'retry-after': String(Math.max(1, Math.ceil(milliseconds / 1000))) }
}

/** What the v4 contract says of an error. `number`: its member `error`. */
export interface ProblemText {
  readonly title: string
  readonly detail: string
  readonly remediation?: string
  readonly number?: number
  /** Absent: that of the code. */
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
}

/** An error in the words of the v4 contract. The log and the counts have its code of the v3 one. */
export class ProblemError extends EdgeError {
  override readonly status: number
  readonly title: string
  readonly detail: string
  readonly remediation: string | undefined
  readonly number: number | undefined

  constructor(code: ErrorCode, { title, detail, remediation, number, status, headers }: ProblemText) {
    super(code, `: ${detail}`, { ...(headers && { headers }) })
    this.name = 'ProblemError'
    this.status = status ?? errorTable[code].status
    this.title = title
    this.detail = detail
    this.remediation = remediation
    this.number = number
  }
}

/** Returns the error of the v4 contract for a path that nodes do not have. */
export function notFoundProblem(title = 'Not Found'): ProblemError {
  return new ProblemError(603, { title, detail: '404: Not Found' })
}

/** As `notFoundProblem`, for what the release of the nodes no longer has. Such a request is not sent. */
export function goneProblem(last: string, replacedBy: string | undefined): ProblemError {
  const instead = replacedBy === undefined ? 'nothing replaces it' : `use ${replacedBy}`
  return notFoundProblem(`Not Found: gone since release 5.0 (last in ${last}), ${instead}`)
}

/** The header with the name that a client may have meant. Error texts are part of the contracts, so they do not contain it. */
export const SUGGESTION_HEADER = 'did-you-mean'

/** Returns the candidate that is most similar to the word, if one is similar enough to be a misspelling of it. */
export function findSimilar(word: string, candidates: readonly string[]): string | undefined {
  const maxDistance = Math.max(2, Math.floor(word.length / 3))
  const ranked = candidates
    .map((name) => ({ name, edits: distance(word.toLowerCase(), name.toLowerCase()) }))
    .filter(({ edits }) => edits <= maxDistance)
    .sort((a, b) => a.edits - b.edits)
  return ranked[0]?.name
}

/** Returns the header for a word of a client; no header if no candidate is similar. */
export function suggestionHeaders(word: string, candidates: readonly string[]): Readonly<Record<string, string>> {
  const name = findSimilar(word.slice(0, 64), candidates)
  return name === undefined ? {} : { [SUGGESTION_HEADER]: name }
}
