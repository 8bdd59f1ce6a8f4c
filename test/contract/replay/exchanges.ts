import { readFileSync } from 'node:fs'

/** One request and its answer, recorded on a real three-node cluster. */
export interface Exchange {
  readonly tag: string
  readonly auth: 'ok' | 'bad' | 'none' | 'garbage' | 'bearer'
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

/** The parsed body, or undefined where it is none. */
export function json(text: string | null): Envelope | undefined {
  try {
    return JSON.parse(text ?? '') as Envelope
  } catch {
    return undefined
  }
}

/** `GET /agents?limit=2`, short. */
export function name(exchange: Exchange): string {
  const { method, path, headers } = exchange.request
  const type = headers['Content-Type'] ?? headers['content-type']
  return `${method} ${path.slice(0, 120)}${type === undefined ? '' : ` (${type})`}`
}

/** Refused by the API layer itself, so by the edge: parameter, path, type and version errors (errors.yaml). */
export function isRefusal(exchange: Exchange): boolean {
  const code = Number(json(exchange.response.body)?.error)
  return (code >= 600 && code < 900 && code !== 700) || code === 3022 || code === 1405 || code === 1406
}
