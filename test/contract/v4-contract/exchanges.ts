/** The exchanges of a real cluster of release 4.5.4 in the v4 contract, and which of them the manager refused before it did anything. */
import { readFileSync } from 'node:fs'

export interface ContractExchange {
  /** The place in the file, from 1: tests and tables of differences name an exchange by it. */
  readonly line: number
  /** Method and path template; `null`: the exchange is about logins, users or routing. */
  readonly operation: string | null
  readonly node: string
  /** The account of the client; `null`: no credentials, or credentials that are not valid; `basic`: a name and a password. */
  readonly user: string | null
  readonly note: string | null
  readonly request: {
    readonly method: string
    readonly path: string
    readonly contentType?: string
    readonly body?: string
  }
  readonly response: {
    readonly status: number
    readonly headers: Readonly<Record<string, string>>
    readonly body: string
  }
}

export interface ProblemBody {
  readonly title?: string
  readonly detail?: string
  readonly error?: number
}

/** Returns the exchanges as they were recorded: long responses are cut, and end with `…cut`. */
export function recordedContract(): ContractExchange[] {
  const text = readFileSync(new URL('../exchanges/v4-contract.jsonl', import.meta.url), 'utf8')
  return text
    .split('\n')
    .flatMap((line, index) => (line === '' ? [] : [{ ...(JSON.parse(line) as ContractExchange), line: index + 1 }]))
}

/** Returns the exchanges with whole responses, which a node can give. */
export function recordedExchanges(): ContractExchange[] {
  return recordedContract().map(whole)
}

/** Another body takes the place of one that was cut. */
function whole(exchange: ContractExchange): ContractExchange {
  const { response } = exchange
  if (!isCut(response.body)) return exchange
  const data = { affected_items: [{ id: 1 }], total_affected_items: 1, total_failed_items: 0, failed_items: [] }
  return {
    ...exchange,
    response: { ...response, body: JSON.stringify({ data, message: 'All were returned', error: 0 }) },
  }
}

/** Whether the recording has only the beginning of a body. */
export function isCut(body: string): boolean {
  return body.endsWith('…cut')
}

/** A request that the manager refused because of its credentials, its path, its method, its parameters or its body. */
export function isRefusal({ response: { status, body } }: Pick<ContractExchange, 'response'>): boolean {
  if (status === 406) return true
  return [400, 401, 404, 405, 413].includes(status) && problemOf(body).error === undefined
}

/** Returns the members of a problem; of a body that is no JSON none. */
export function problemOf(body: string): ProblemBody {
  try {
    return JSON.parse(body) as ProblemBody
  } catch {
    return {}
  }
}

export function nameOf({ line, request: { method, path, body }, note }: ContractExchange): string {
  return `line ${line}: ${method} ${path.slice(0, 120)}${body === undefined ? '' : ` ${body.slice(0, 60)}`} (${note})`
}
