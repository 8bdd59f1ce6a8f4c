/** Settings of the nodes behind the edge. */
import { copyFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Test } from 'tap'
import { parse } from 'yaml'
import { eventually } from '../../../support/eventually.ts'
import { samplesOf, sumOf } from '../../../support/scrape.ts'
import { authority } from '../../../unit/upstream/certificates.ts'
import type { Reloadable } from '../edge.ts'
import { answer, answerTo, duringFault, OK, type Proof, type StartOptions, unique } from '../proof.ts'

const readMaster = answer(() => `/agents?search=${unique()}`)

/** The files of two authorities that the nodes and the edge use; the other files are put to use by the change. */
let files = ''

/** Nodes with TLS, which accept only an edge with a certificate of the same authority. */
async function startWithTls(t: Test): Promise<StartOptions> {
  const [ours, theirs] = await Promise.all([authority(t, 'ours'), authority(t, 'theirs')])
  const [node, edge, stranger] = await Promise.all([
    ours.sign('IP:127.0.0.1'),
    ours.sign('DNS:edge'),
    theirs.sign('DNS:stranger'),
  ])
  files = t.testdir({
    'ca.crt': ours.cert,
    'edge.crt': edge.cert,
    'edge.key': edge.key,
    'other-ca.crt': theirs.cert,
    'other.crt': stranger.cert,
    'other.key': stranger.key,
  })
  const required = { requestCert: true, ca: ours.cert }
  const [ca, cert, key] = ['ca.crt', 'edge.crt', 'edge.key'].map((file) => join(files, file))
  return {
    world: { workers: 0, agents: 3, tls: { ...node, ...required } },
    settings: { cluster: { discover: false, tls: { ca, cert, key } } },
  }
}

interface NodeSetting {
  readonly name: string
  readonly type: string
  readonly url: string
}

async function nodesOf({ edge }: Reloadable): Promise<readonly NodeSetting[]> {
  return parse(await readFile(join(edge.folder, 'edge.yaml'), 'utf8')).cluster.nodes
}

/** Reads from the master; before that, it copies these files to where the changed settings expect them. */
const readMasterWithTls =
  (names: readonly string[]): Proof['observe'] =>
  async (edge) => {
    for (const name of names) await copyFile(join(files, name), join(edge.edge.folder, name))
    return readMaster(edge)
  }

export const proofs: readonly Proof[] = [
  {
    changes: { 'cluster.experimental': false },
    before: OK,
    after: [404, 603],
    observe: answer(() => '/experimental/syscollector/os?limit=1'),
  },
  {
    changes: { 'cluster.limits.inFlight': 7 },
    before: ['4'],
    after: ['7'],
    observe: async ({ operations }) => {
      const found = /^edge_node_limit\{node="master".*\} (\d+)$/m.exec(await operations('/metrics'))
      return [found?.[1]]
    },
  },
  {
    changes: { 'cluster.limits.response': '20B' },
    before: OK,
    after: [502, 926],
    observe: answer(() => `/agents?search=${unique()}`),
  },
  {
    changes: { 'cluster.limits.perMinute': 1 },
    before: 0,
    after: 921,
    observe: async (edge) => {
      // Never stored, so that each read is a call: one at the master, one at the worker, and one too many.
      const read = answer(() => '/agents/001/key')
      const codes = (await Promise.all([read(edge), read(edge), read(edge)])) as [number, number][]
      return Math.max(...codes.map(([, code]) => code))
    },
  },
  {
    // Their packages are more rows than a node returns at once, and more agents than one read may ask.
    start: { world: { workers: 0, agents: 40 }, settings: { cluster: { discover: false } } },
    changes: { 'cluster.limits.agentsPerCollection': 1 },
    before: 'complete',
    after: 'refused',
    isFinal: true,
    observe: async ({ get, edge }) => {
      const headers = { authorization: edge.authorization('admin') }
      for (;;) {
        const { data } = (await (await get('/experimental/syscollector/packages?limit=1')).json()) as { data: object }
        if (!Object.hasOwn(data, 'covered_agents')) return 'complete'
        const metrics = await (await fetch(`${edge.operationsUrl}/metrics`, { headers })).text()
        const refused = { outcome: 'tooManyRows' }
        if (sumOf(samplesOf(metrics), 'edge_cache_snapshot_builds_total', refused) > 0) return 'refused'
      }
    },
  },
  {
    changes: { 'cluster.limits.timeout': '200ms' },
    before: OK,
    after: [504, 922],
    observe: duringFault(
      { delay: 2_000 },
      answer(() => `/agents?search=${unique()}`),
    ),
  },
  {
    changes: { 'cluster.limits.queue': 1, 'cluster.limits.inFlight': 1 },
    before: 0,
    after: 921,
    observe: duringFault({ delay: 300 }, async (edge) => {
      const read = answer(() => `/agents?search=${unique()}`)
      const codes = (await Promise.all(Array.from({ length: 6 }, () => read(edge)))) as [number, number][]
      return Math.max(...codes.map(([, code]) => code))
    }),
  },
  {
    changes: { 'cluster.credentials.password': 'not-the-password' },
    before: OK,
    after: [502, 927],
    observe: answer(() => `/agents?search=${unique()}`),
  },
  {
    changes: { 'cluster.upgradeRepositories': ['mirror.example/wpk/'] },
    before: OK,
    after: [400, 608],
    observe: answerTo('PUT', '/agents/001/upgrade?wpk_repo=packages.wazuh.com/wpk/'),
  },
  {
    changes: { 'cluster.packageFolders': ['/srv/packages/'] },
    before: [200, 1307],
    after: [400, 608],
    observe: answerTo('PUT', '/agents/001/upgrade_custom?file_path=/var/ossec/packages/agent.wpk'),
  },
  {
    start: { settings: { cluster: { discover: false } } },
    changes: { 'cluster.nodes': [{ name: 'master', type: 'master', url: 'http://127.0.0.1:9' }] },
    before: [OK, OK],
    after: [
      [502, 924],
      [200, 3022],
    ],
    observe: async (edge) => [
      await readMaster(edge),
      await answer(() => `/cluster/worker-1/logs?search=${unique()}`)(edge),
    ],
  },
  {
    changes: { 'cluster.credentials.username': 'not-the-account' },
    before: OK,
    after: [502, 927],
    observe: readMaster,
  },
  {
    start: async (t) => ({
      settings: {
        cluster: {
          credentials: { password: undefined, passwordFile: join(t.testdir({ secret: 'only-for-tests' }), 'secret') },
        },
      },
    }),
    changes: { 'cluster.credentials.passwordFile': 'users' },
    before: OK,
    after: [502, 927],
    observe: readMaster,
  },
  {
    start: startWithTls,
    changes: { 'cluster.tls.ca': 'other-ca.crt' },
    before: OK,
    after: [502, 924],
    observe: readMasterWithTls(['other-ca.crt']),
  },
  {
    start: startWithTls,
    changes: { 'cluster.tls.cert': 'other.crt', 'cluster.tls.key': 'other.key' },
    before: OK,
    after: [502, 924],
    observe: readMasterWithTls(['other.crt', 'other.key']),
  },
  {
    changes: { 'cluster.tls.required': false },
    before: 'refused',
    after: 'used',
    observe: async (edge) => {
      const nodes = await nodesOf(edge)
      const far = { name: 'far', type: 'worker', url: 'http://192.0.2.7:55000' }
      await edge.change({ 'cluster.nodes': [...nodes, far] })
      const [, error] = (await answer(() => '/cluster/far/info')(edge)) as [number, number]
      await edge.change({ 'cluster.nodes': nodes })
      return error === 3022 ? 'refused' : 'used'
    },
  },
  {
    start: { settings: { cluster: { limits: { timeout: '300ms' } } } },
    changes: { 'cluster.limits.slowTimeout': '300ms' },
    before: OK,
    after: [504, 923],
    observe: duringFault({ delay: 1000 }, answerTo('PUT', '/manager/restart')),
  },
  {
    start: { world: { workers: 0, agents: 3 }, settings: { cluster: { discover: false } } },
    changes: { 'cluster.addresses': ['192.0.2.0/24'] },
    before: OK,
    after: [502, 924],
    observe: async (edge) => {
      // A name is resolved for each connection. A node whose address is outside the ranges would be refused as a setting.
      const nodes = (await nodesOf(edge)).map(({ url, ...node }) => ({
        ...node,
        url: url.replace('127.0.0.1', 'localhost'),
      }))
      await edge.change({ 'cluster.nodes': nodes })
      return readMaster(edge)
    },
  },
  {
    start: { settings: { cluster: { discover: false } } },
    changes: { 'cluster.discover': true },
    before: false,
    after: true,
    observe: ({ simulator }) => {
      const isListed = () => simulator.seen.some(({ url }) => url.startsWith('/cluster/nodes'))
      return eventually(isListed, 2000).then(
        () => true,
        () => false,
      )
    },
  },
]
