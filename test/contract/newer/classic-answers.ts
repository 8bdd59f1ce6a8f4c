/** Successful GET responses of real classic clusters, by the record of their path. */
import { readFileSync } from 'node:fs'
import { catalogue } from '../../../src/catalogue/index.ts'
import { idOf } from '../facts.ts'

interface Line {
  readonly request: { readonly method: string; readonly path: string }
  readonly response: { readonly body: string | null }
}

/** Returns `data` of each response. */
export function classicAnswers(): ReadonlyMap<string, readonly unknown[]> {
  const answers = new Map<string, unknown[]>()
  for (const file of ['real-cluster', 'three-nodes']) {
    const text = readFileSync(new URL(`../exchanges/${file}.jsonl`, import.meta.url), 'utf8')
    for (const line of text.split('\n').filter((one) => one !== '')) {
      const { request, response } = JSON.parse(line) as Line
      const id = recordOf(request)
      const data = id === undefined ? undefined : dataOf(response.body)
      if (id !== undefined && data !== undefined) answers.set(id, [...(answers.get(id) ?? []), data])
    }
  }
  return answers
}

/** Returns the id of the record with the most fixed segments that fits. */
function recordOf({ method, path }: Line['request']): string | undefined {
  const segments = path.replace(/\?.*/s, '').toLowerCase().split('/').filter(Boolean)
  const fixed = (template: string) => template.split('/').filter((part) => part !== '' && !part.startsWith(':')).length
  const fits = catalogue.filter((record) => {
    const parts = record.path.split('/').filter(Boolean)
    const isSame = (part: string, index: number) => part.startsWith(':') || part === segments[index]
    return record.method === method && parts.length === segments.length && parts.every(isSame)
  })
  const [best] = fits.sort((a, b) => fixed(b.path) - fixed(a.path))
  return best === undefined || method !== 'GET' ? undefined : idOf(best)
}

function dataOf(body: string | null): unknown {
  try {
    const envelope = JSON.parse(body ?? '') as { error?: unknown; data?: unknown }
    return envelope.error === 0 ? envelope.data : undefined
  } catch {
    return undefined
  }
}
