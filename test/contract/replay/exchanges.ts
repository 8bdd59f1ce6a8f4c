import { readFileSync } from 'node:fs'

/** A request and its response, as a real node got and sent them. */
export interface RecordedExchange {
  readonly request: {
    readonly method: string
    readonly path: string
    readonly headers: Readonly<Record<string, string>>
    readonly body: string | null
  }
  readonly response: {
    readonly status: number
    readonly headers: Readonly<Record<string, string>>
    readonly body: string | null
  }
}

/** An exchange that was recorded on a real cluster with three nodes. */
export interface Exchange extends RecordedExchange {
  readonly tag: string
  readonly auth: 'ok' | 'bad' | 'none' | 'garbage' | 'bearer'
}

export function recorded(): Exchange[] {
  const text = readFileSync(new URL('../exchanges/real-cluster.jsonl', import.meta.url), 'utf8')
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Exchange)
}

export interface Envelope {
  readonly error?: unknown
  readonly message?: string
  readonly data?: unknown
}

/** Returns the parsed body, or undefined if it is not JSON. */
export function json(text: string | null): Envelope | undefined {
  try {
    return JSON.parse(text ?? '') as Envelope
  } catch {
    return undefined
  }
}

/** Returns a short name such as `GET /agents?limit=2`. */
export function name(exchange: Exchange): string {
  const { method, path, headers } = exchange.request
  const type = headers['Content-Type'] ?? headers['content-type']
  return `${method} ${path.slice(0, 120)}${type === undefined ? '' : ` (${type})`}`
}

/** Errors of the API layer itself (parameter, path, type, version), which the edge returns without asking a node. */
export function isRefusal(exchange: Exchange): boolean {
  const code = Number(json(exchange.response.body)?.error)
  return (code >= 600 && code < 900 && code !== 700) || code === 3022 || code === 1405 || code === 1406
}
