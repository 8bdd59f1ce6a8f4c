/** Recorded queries of recorded collections: what the edge computes from all rows is what the manager answered. */
import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import t, { type Test } from 'tap'
import { recordedContract } from './exchanges.ts'
import { collectionsOf, computerOf, queryOf, type Recorded } from './recorded-queries.ts'

/** Recorded for v3 requests, in the same API. */
const ofLayout = readFileSync(new URL('../exchanges/v4-layout.jsonl', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => JSON.parse(line) as Recorded)

t.test('recorded in the v4 contract', (t) => compareAll(t, recordedContract(), 'administrator', 121))
t.test('recorded behind v3 requests', (t) => compareAll(t, ofLayout, 'wazuh', 93))

async function compareAll(t: Test, exchanges: readonly Recorded[], reader: string, min: number): Promise<void> {
  const collections = collectionsOf(exchanges, reader)
  let computed = 0
  for (const collection of collections) {
    const compute = await computerOf(collection)
    for (const { request, response } of collection.queries) {
      const { pretty, wait_for_complete, ...query } = queryOf(request.path)
      const text = await compute(query)
      if (text === undefined) continue
      computed += 1
      const same = isSame(withoutTimes(text), withoutTimes(response.body), query.select !== undefined)
      if (!same) t.equal(text, response.body, request.path)
    }
  }
  const queries = collections.flatMap(({ queries }) => queries).length
  t.ok(computed >= min, `${computed} of ${queries} queries of ${collections.length} collections are computed`)
}

/** Agents report every few seconds. */
function withoutTimes(body: string): string {
  return body.replaceAll(/"lastKeepAlive": "[^"]*"/g, '"lastKeepAlive": ""')
}

/** The order of selected members is random. */
function isSame(text: string, recorded: string, selects: boolean): boolean {
  return text === recorded || (selects && isDeepStrictEqual(JSON.parse(text), JSON.parse(recorded)))
}
