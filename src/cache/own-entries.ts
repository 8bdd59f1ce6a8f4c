/** The part of the index that shows stored responses of some permission scopes only. */
import { inTurns } from '../core/in-turns.ts'
import type { CacheIndex, IndexEntry } from '../core/response.ts'

export type ListedEntries = Pick<CacheIndex, 'list' | 'count' | 'page'>

/** Rows, counts, pages and totals contain nothing of other scopes. Each costs as much as the whole index. */
export function ownEntriesOf(index: Pick<CacheIndex, 'list'>, scopes: ReadonlySet<string>): ListedEntries {
  async function list(group?: string): Promise<readonly IndexEntry[]> {
    const own: IndexEntry[] = []
    for await (const part of inTurns(await index.list(group)))
      own.push(...part.filter(({ scope }) => scopes.has(scope)))
    return own
  }
  return {
    list,
    async count() {
      const counts = new Map<string, number>()
      for (const { group } of await list()) counts.set(group, (counts.get(group) ?? 0) + 1)
      return new Map([...counts].sort())
    },
    async page({ group, offset, limit }) {
      const rows = await list(group)
      return { rows: rows.slice(offset, offset + limit), total: rows.length }
    },
  }
}
