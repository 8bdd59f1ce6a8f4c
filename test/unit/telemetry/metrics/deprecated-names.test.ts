import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { startSimulator } from '../../../../packages/simulator/src/index.ts'
import { startEdge } from '../../../support/edge.ts'
import { type Sample, samplesOf, sumOf } from '../../../support/scrape.ts'

/** The names of 0.1.0, and the names that replace them. */
const renamed = [
  ['edge_cache_fills_total', 'edge_cache_fetches_total'],
  ['edge_cache_fill_seconds_total', 'edge_cache_fetch_seconds_total'],
  ['edge_cache_joined_total', 'edge_cache_collapsed_total'],
  ['edge_cache_near_bytes', 'edge_cache_local_bytes'],
  ['edge_cache_near_entries', 'edge_cache_local_entries'],
  ['edge_audit_lines_total', 'edge_audit_records_total'],
] as const

t.test('each metric of 0.1.0 with a new name is still exported under the old one, with the same values', async (t) => {
  const simulator = await startSimulator()
  t.teardown(() => simulator.close())
  const edge = await startEdge({ nodes: simulator.nodes, password: 'simulated' })
  t.teardown(() => edge.close())
  const authorization = edge.authorization('admin')
  const send = async (path: string, method = 'GET') =>
    (await fetch(edge.url + path, { method, headers: { authorization } })).text()
  const scrape = async () => (await fetch(`${edge.operationsUrl}/metrics`, { headers: { authorization } })).text()

  await send('/agents/001')
  // The second request arrives while the fetch of the first is in flight.
  for (const { name } of simulator.nodes) await simulator.faults.set(name, { delay: 1000 })
  const first = send('/decoders?limit=3')
  while (!simulator.seen.some(({ url }) => url.startsWith('/decoders'))) await wait(10)
  await Promise.all([first, send('/decoders?limit=3')])
  await simulator.faults.clear()
  await send('/agents/groups/fresh', 'PUT')
  let text = await scrape()
  // The write has two audit records; the second may be written after the response.
  for (let tries = 0; tries < 200 && sumOf(samplesOf(text), 'edge_audit_records_total') < 2; tries++) {
    await wait(10)
    text = await scrape()
  }
  const samples = samplesOf(text)
  for (const [old, name] of renamed) {
    t.ok(sumOf(samples, name) > 0, `${name} counts this traffic`)
    t.strictSame(valuesOf(samples, old), valuesOf(samples, name), old)
    t.match(text, `# HELP ${old} Deprecated since 0.2.0: use ${name}.\n`)
    const typeOf = (metric: string) => new RegExp(`^# TYPE ${metric} (\\w+)$`, 'm').exec(text)?.[1]
    t.equal(typeOf(old), typeOf(name), `${old} has the type of ${name}`)
  }
})

function valuesOf(samples: readonly Sample[], metric: string): Pick<Sample, 'labels' | 'value'>[] {
  return samples.filter(({ name }) => name === metric).map(({ labels, value }) => ({ labels, value }))
}
