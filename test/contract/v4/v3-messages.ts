/** The texts of errors that real v3 clusters sent. */
import { readFileSync } from 'node:fs'

interface FailedId {
  readonly id: string
  readonly error: { readonly code: number; readonly message: string }
}

export interface V3Messages {
  /** Of whole responses, by code. */
  readonly ofResponses: ReadonlyMap<number, ReadonlySet<string>>
  /** Of single ids, by code, with the id as `ID`. */
  readonly ofIds: ReadonlyMap<number, ReadonlySet<string>>
}

export function v3Messages(): V3Messages {
  const ofResponses = new Map<number, Set<string>>()
  const ofIds = new Map<number, Set<string>>()
  const lines = readFileSync(new URL('../exchanges/real-cluster.jsonl', import.meta.url), 'utf8').split('\n')
  for (const line of lines.filter((one) => one !== '')) {
    const { response } = JSON.parse(line) as { readonly response: { readonly body: string | null } }
    const body = envelopeOf(response.body)
    if (typeof body?.error === 'number' && body.message !== undefined) add(ofResponses, body.error, body.message)
    for (const { id, error } of failedIdsOf(body?.data)) add(ofIds, error.code, withoutId(error.message, id))
  }
  return { ofResponses, ofIds }
}

export interface Envelope {
  readonly error?: unknown
  readonly message?: string
  readonly data?: unknown
}

export function envelopeOf(text: string | null): Envelope | undefined {
  try {
    return JSON.parse(text ?? '') as Envelope
  } catch {
    return undefined
  }
}

export function failedIdsOf(data: unknown): readonly FailedId[] {
  const failed = typeof data === 'object' && data !== null ? (data as { failed_ids?: unknown }).failed_ids : undefined
  return Array.isArray(failed) ? failed.filter((one): one is FailedId => typeof one === 'object' && one !== null) : []
}

export const withoutId = (message: string, id: string) => message.replaceAll(id, 'ID')

function add(messages: Map<number, Set<string>>, code: number, message: string): void {
  messages.set(code, (messages.get(code) ?? new Set()).add(message))
}
