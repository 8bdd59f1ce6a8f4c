/** Successful GET responses of real v3 clusters, by the record of their path. */
import { readFileSync } from 'node:fs'
import { idOf } from '../facts.ts'
import { recordOf } from '../record-of.ts'

interface Line {
  readonly request: { readonly method: string; readonly path: string }
  readonly response: { readonly body: string | null }
}

/** Returns `data` of each response. */
export function v3Answers(): ReadonlyMap<string, readonly unknown[]> {
  const answers = new Map<string, unknown[]>()
  for (const file of ['real-cluster', 'three-nodes']) {
    const text = readFileSync(new URL(`../exchanges/${file}.jsonl`, import.meta.url), 'utf8')
    for (const line of text.split('\n').filter((one) => one !== '')) {
      const { request, response } = JSON.parse(line) as Line
      const record = request.method === 'GET' ? recordOf(request) : undefined
      const id = record && idOf(record)
      const data = id === undefined ? undefined : dataOf(response.body)
      if (id !== undefined && data !== undefined) answers.set(id, [...(answers.get(id) ?? []), data])
    }
  }
  return answers
}

function dataOf(body: string | null): unknown {
  try {
    const envelope = JSON.parse(body ?? '') as { error?: unknown; data?: unknown }
    return envelope.error === 0 ? envelope.data : undefined
  } catch {
    return undefined
  }
}
