/** Errors of the v4 layout, with their HTTP status and what the body says. */
import { type ErrorCode, type ErrorText, errorTexts } from './error-texts.ts'

export { type ErrorCode, errorTexts } from './error-texts.ts'

const kinds: readonly (readonly [codes: readonly ErrorCode[], status: number, title: string])[] = [
  [[4000, 6000, 6004], 403, 'Permission Denied'],
  [[1122, 1701, 1710, 5001], 404, 'Resource Not Found'],
  [[6002], 406, 'Not Acceptable'],
  [[6001, 6005], 429, 'Too Many Requests'],
  [[1000, 3012, 3020, 3021], 500, 'Wazuh Internal Error'],
  [[3022, 3023], 400, 'Wazuh Cluster Error'],
]

/** Errors that the API process raises itself: the body names no node. */
const WITHOUT_NODE: ReadonlySet<ErrorCode> = new Set([1128, 1912, 3022, 3023, 6000, 6001, 6002, 6005])

interface ErrorOptions {
  readonly remediation?: string
  readonly inApi?: boolean
}

/** An error of a whole request, or of some of its targets (a failed item). */
export class V4Error extends Error {
  readonly code: ErrorCode
  /** Follows the text after a colon; empty for none. */
  readonly extra: string
  /** Node → text of its error, for the body. */
  nodes: Readonly<Record<string, string>> = {}
  readonly remediation: string | undefined
  readonly #inApi: boolean

  /** `inApi`: the API process raises the error, so the body names no node. */
  constructor(code: ErrorCode, extra = '', { remediation, inApi = WITHOUT_NODE.has(code) }: ErrorOptions = {}) {
    const text: ErrorText = errorTexts[code]
    super(extra === '' ? text.message : `${text.message}: ${extra}`)
    this.name = 'V4Error'
    this.code = code
    this.extra = extra
    this.remediation = remediation ?? text.remediation
    this.#inApi = inApi
  }

  get status(): number {
    return kinds.find(([codes]) => codes.includes(this.code))?.[1] ?? 400
  }

  get title(): string {
    return kinds.find(([codes]) => codes.includes(this.code))?.[2] ?? 'Bad Request'
  }

  get namesNodes(): boolean {
    return !this.#inApi
  }
}

/** A response without a code: the API's framework refuses the request before the manager sees it. */
export class Refusal extends Error {
  readonly status: number
  readonly title: string
  /** Only some refusals of release 5.0 have one. */
  readonly code: number | undefined

  constructor(status: number, title: string, detail: string, code?: number) {
    super(detail)
    this.name = 'Refusal'
    this.status = status
    this.title = title
    this.code = code
  }
}

/** The framework does not catch a fault: a status and a text alone. */
export class Uncaught extends Error {}

/** The path has a slash at its end; the client shall ask again without it. */
export class Moved extends Error {
  readonly path: string

  constructor(path: string) {
    super(path)
    this.path = path
  }
}

/** A parameter or body that the API refuses: HTTP 400 without a code. */
export function badRequest(detail: string): Refusal {
  return new Refusal(400, 'Bad Request', detail)
}
