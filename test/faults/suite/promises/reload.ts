/** R23 and R24: nodes and certificates change under load. */
import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { Client } from 'undici'
import { eventually } from '../../../support/eventually.ts'
import { authority, hasOpenssl } from '../../../unit/upstream/certificates.ts'
import { type ClusterNode, type ClusterProcess, startClusterProcess } from '../cluster-process.ts'
import { type EdgeProcess, headers, startEdgeProcess } from '../edge-process.ts'
import { type Call, phaseOf, type Sample, send, startSteadyLoad } from '../load.ts'
import { effect, type FaultPromise, type Figure, figure, NotRun, none } from '../promise.ts'

const WORKERS = 3
/** A removed node receives no request after this time. */
const REMOVED_MS = 1000
const RELOADED = 'configuration reloaded'

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const namesOf = (nodes: readonly ClusterNode[]) => nodes.map(({ name, type, url }) => ({ name, type, url }))
const count = (edge: EdgeProcess, text: string) => edge.logged.join('').split(text).length - 1

/** Changes the configuration file and waits until the edge has loaded it. */
async function reload(edge: EdgeProcess, settings: Parameters<EdgeProcess['configure']>[0]): Promise<void> {
  const before = count(edge, RELOADED)
  await edge.configure(settings)
  await eventually(() => count(edge, RELOADED) > before)
}

async function callsOfNode(cluster: ClusterProcess, name: string): Promise<number> {
  const { calls } = await cluster.report()
  return Object.entries(calls).reduce((sum, [call, times]) => (call.startsWith(`${name} `) ? sum + times : sum), 0)
}

const topology: FaultPromise = {
  id: 'R23',
  title: 'Nodes change under load: no failure, and a removed node receives no further request',
  planted: 'the configuration is not changed',
  async run(context): Promise<readonly Figure[]> {
    const cluster = context.keep(await startClusterProcess({ workers: WORKERS, agents: 20, distributed: false }))
    const joining = { distribution: 'edge', limits: { inFlight: 32 } }
    const settings = { cache: { enabled: false }, cluster: joining }
    const edge = context.keep(await startEdgeProcess({ nodes: cluster.nodes, settings }))
    // A joined read asks every node that the edge has.
    const draw = (): Call => ({ origin: edge.url, path: '/experimental/syscollector/os?limit=100', headers })
    const load = startSteadyLoad({ rate: Math.min(20, context.rate), draw })
    load.phase('all')
    let [before, after, late] = [0, 0, 0]
    const changes = context.count(50, 2)
    for (let turn = 0; turn < changes; turn += 1) {
      const removed = `worker-${1 + (turn % WORKERS)}`
      const rest = cluster.nodes.filter(({ name }) => name !== removed)
      before += await callsOfNode(cluster, removed)
      await context.inject(() => reload(edge, { cluster: { nodes: namesOf(rest) } }))
      await wait(REMOVED_MS)
      after += await callsOfNode(cluster, removed)
      await wait(300)
      late += await callsOfNode(cluster, removed)
      await context.inject(() => reload(edge, { cluster: { nodes: namesOf(cluster.nodes) } }))
      await wait(300)
    }
    const { all } = await load.stop()
    const reloads = count(edge, RELOADED)
    return [
      effect(
        'reloads with requests to the node before',
        `${reloads} with ${before}`,
        reloads >= 2 * changes && before > 0,
      ),
      none(`failures of ${all?.requests} requests`, all?.failures ?? []),
      figure(`requests to a removed node after 1 s (${after} within it)`, late, '0', late === 0),
    ]
  },
}

const fixture = (name: string) => new URL(`../../../support/certificates/${name}`, import.meta.url)

/** Returns the common name of the certificate that a new connection receives. */
function certificateAt(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
      resolve(String(socket.getPeerCertificate().subject.CN))
      socket.destroy()
    })
    socket.on('error', reject)
  })
}

async function replace(file: string, text: string): Promise<void> {
  await writeFile(`${file}.new`, text, { mode: 0o600 })
  await rename(`${file}.new`, file)
}

const certificates: FaultPromise = {
  id: 'R24',
  title: 'Certificates of the edge and of the nodes are rotated under load: no failed handshake',
  planted: 'clients trust the first certificate only',
  async run(context) {
    if (!(await hasOpenssl())) throw new NotRun('openssl is not installed')
    const teardown = (end?: () => unknown) => void (end && context.keep({ close: async () => void (await end()) }))
    const [old, next] = [await authority({ teardown }, 'old'), await authority({ teardown }, 'next')]
    const start = async (by: typeof old) =>
      context.keep(await startClusterProcess({ workers: 0, agents: 5, tls: await by.sign('IP:127.0.0.1') }))
    const clusters = [await start(old), await start(next)] as const
    const read = (name: string) => readFile(fixture(name), 'utf8')
    const pairs = await Promise.all(
      ['first', 'second'].map(async (name) => ({ cert: await read(`${name}.crt`), key: await read(`${name}.key`) })),
    )
    const [first, second] = pairs as [(typeof pairs)[0], (typeof pairs)[0]]
    const tls = { cert: 'edge.crt', key: 'edge.key' }
    const files = { 'edge.crt': first.cert, 'edge.key': first.key, 'ca.crt': old.cert + next.cert }
    const settings = { listen: { tls }, cache: { enabled: false }, cluster: { tls: { ca: 'ca.crt' } } }
    const edge = context.keep(await startEdgeProcess({ nodes: clusters[0].nodes, settings, files }))
    const origin = `https://127.0.0.1:${edge.port}`
    const ca = context.planted ? [first.cert] : [first.cert, second.cert]
    const samples: Sample[] = []
    let over = false
    const client = async () => {
      while (!over) {
        const connection = new Client(origin, { connect: { ca } })
        const { reply: _, ...sample } = await send({ origin, path: '/agents?limit=1', headers }, connection)
        samples.push(sample)
        await connection.destroy()
        await wait(20)
      }
    }
    const load = Promise.all([client(), client(), client()])
    const swaps = context.count(20, 2)
    const seen = new Set<string>()
    for (let turn = 0; turn < swaps; turn += 1) {
      const [pair, name] = turn % 2 === 0 ? [second, 'second'] : [first, 'first']
      await replace(join(edge.folder, 'edge.key'), pair.key)
      await replace(join(edge.folder, 'edge.crt'), pair.cert)
      await eventually(async () => (await certificateAt(edge.port)).startsWith(name))
      seen.add(name)
      const cluster = clusters[(turn + 1) % 2] ?? clusters[0]
      await reload(edge, { cluster: { nodes: namesOf(cluster.nodes) } })
      const answered = samples.length
      await eventually(() => samples.length > answered + 10)
    }
    over = true
    await load
    const reached = await Promise.all(clusters.map(async (cluster) => callsOfNode(cluster, 'master')))
    return [
      effect('certificates of the edge', [...seen].join(), seen.size === 2),
      effect(
        'calls to nodes of either authority',
        reached.join(),
        reached.every((calls) => calls > 0),
      ),
      none(`failed handshakes and requests of ${samples.length}`, phaseOf(samples).failures),
    ]
  },
}

export const reloadPromises: readonly FaultPromise[] = [topology, certificates]
