/** What each read of the classic contract costs, for the proof and for `npm run bench:fleet -- --prices`. */
import type { Test } from 'tap'
import { catalogue } from '../../../src/catalogue/index.ts'
import { simulated } from '../../support/simulated.ts'

export const ways = [
  { name: 'mode manager', layout: 'classic', distribution: 'manager' },
  { name: 'mode edge', layout: 'classic', distribution: 'edge' },
  { name: 'newer layout', layout: 'newer', distribution: 'manager' },
] as const

/** Values for the names in paths of reads. */
const VALUES: Readonly<Record<string, string>> = {
  agent_id: '001',
  agent_name: 'agent-1',
  group_id: 'default',
  node_id: 'master',
  node_ids: '*',
  component: 'agent',
  configuration: 'client',
  requirement: 'pci',
  file_name: 'agent.conf',
  policy_id: 'unix_audit',
  rule_id: '5501',
  decoder_name: 'sshd',
  ip: '127.0.0.1',
}

export interface ReadPrice {
  readonly path: string
  readonly target: string
  /** The calls of nodes, without probes, logins and those of the owner table. */
  readonly calls: readonly string[]
  /** The calls with which the owner table was read, which all reads share. */
  readonly ownerCalls: number
  readonly headers: Headers
  readonly text: string
}

/** The owner table is read by these parameters. */
const OF_OWNERS = 'select=id%2Cnode_name%2Cstatus'

export interface PricedCluster {
  readonly agents: number
  readonly workers: number
}

/** Probes and logins. */
const NOT_OF_READS: ReadonlySet<string> = new Set(['/', '/security/user/authenticate'])

/** Sends each read once, one after the other. `t`: ends the edge and the cluster. */
export async function* pricesOfReads(
  t: Pick<Test, 'teardown'>,
  { agents, workers }: PricedCluster,
  { layout, distribution }: (typeof ways)[number],
): AsyncGenerator<ReadPrice> {
  const settings = { cluster: { layout, distribution, discover: false, limits: { perMinute: 0 } } }
  const world = { agents, workers, layout, distributed: distribution === 'manager' }
  const { simulator, edge } = await simulated(t, world, { settings })
  for (const {
    method,
    path,
    target: { kind },
  } of catalogue) {
    if (method !== 'GET' || kind === 'edge') continue
    const target = path.replaceAll(/:(\w+)/g, (_, value: string) => VALUES[value] ?? 'none')
    const before = simulator.seen.length
    const answer = await fetch(edge.url + target, { headers: { authorization: edge.authorization('admin') } })
    const text = await answer.text()
    const isRead = (url: string) => !NOT_OF_READS.has(url) && (url !== '/version' || path === url)
    const urls = simulator.seen.slice(before).flatMap(({ url }) => (isRead(url) ? [url] : []))
    const calls = urls.filter((url) => !url.includes(OF_OWNERS))
    yield { path, target, calls, ownerCalls: urls.length - calls.length, headers: answer.headers, text }
  }
}
