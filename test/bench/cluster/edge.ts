/**
 * Measures the whole edge in mode `edge`, as in production, in front of the nodes, and its cost compared with direct
 * calls.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { hash } from '@node-rs/bcrypt'
import { Client } from 'undici'
import { stringify } from 'yaml'
import { freePort } from '../../../packages/simulator/src/free-port.ts'
import { basic, launch, type Running, user } from '../contenders.ts'
import { cpuOf } from '../load.ts'
import { checkResponse, WrongResponseError } from '../verify.ts'
import { medianOf } from './measure.ts'
import { addressOf, nodeName } from './names.ts'

export async function edgeBefore(nodes: number, port: number, folder: string): Promise<Running> {
  const [own, operations] = [await freePort(), await freePort()]
  const place = join(folder, `edge-${own}`)
  await mkdir(place)
  await writeFile(join(place, 'users'), `${user.name}:${await hash(user.password, 10)}\n`, { mode: 0o600 })
  const settings = {
    listen: { host: '127.0.0.1', port: own },
    operations: { host: '127.0.0.1', port: operations },
    cluster: {
      distribution: 'edge',
      discover: false,
      nodes: Array.from({ length: nodes }, (_, node) => {
        const type = node === 0 ? 'master' : 'worker'
        return { name: nodeName(node), type, url: `http://${addressOf(node)}:${port}` }
      }),
      credentials: { username: 'edge', password: 'bench' },
      tls: { required: false },
    },
    cache: { ttl: { agents: '1h' } },
    access: { users: 'users', roles: { [user.name]: ['administrator'] }, limits: { requestsPerSecond: 1_000_000 } },
    log: { level: 'warn' },
  }
  await writeFile(join(place, 'edge.yaml'), stringify(settings))
  const cli = fileURLToPath(new URL('../../../dist/cli.js', import.meta.url))
  const command = ['node', cli, 'start', '--config', join(place, 'edge.yaml')]
  return launch(`edge before ${nodes}`, command, `http://127.0.0.1:${own}`)
}

export interface Reply {
  readonly ms: number
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Buffer
}

/** Sends requests over one persistent connection; `fresh` bypasses the cache. */
export function caller(url: string): { ask(path: string, fresh: boolean): Promise<Reply>; close(): Promise<void> } {
  const client = new Client(url)
  return {
    close: () => client.close(),
    async ask(path, fresh) {
      const headers = { authorization: basic, ...(fresh && { 'cache-control': 'no-cache' }) }
      const began = performance.now()
      const { statusCode: status, headers: answered, body } = await client.request({ path, method: 'GET', headers })
      const bytes = Buffer.from(await body.arrayBuffer())
      return { ms: performance.now() - began, status, headers: answered, body: bytes }
    },
  }
}

export const JOINED = '/experimental/syscollector/packages?limit=500'
const WARM = 40

export interface JoinedCost {
  readonly fresh: number
  readonly hit: number
  /** The mean CPU time of the edge for both, almost all of it for the fresh response. */
  readonly cpu: number
}

/** Returns medians of a joined page, fresh and from the cache. */
export async function joinedThrough(edge: Running, rounds: number): Promise<JoinedCost> {
  const { ask, close } = caller(edge.url)
  const times: { readonly fresh: number[]; readonly hit: number[] } = { fresh: [], hit: [] }
  let since = 0
  for (let turn = -Math.min(WARM, rounds); turn < rounds; turn++) {
    const fresh = await ask(JOINED, true)
    const hit = await ask(JOINED, false)
    const expected = { status: 200, length: fresh.body.length }
    if (fresh.body.length < 100_000) throw new WrongResponseError(`joined: ${fresh.body.toString('utf8', 0, 300)}`)
    checkResponse('joined, fresh', { ...expected, cacheStatus: /fwd=request/ }, fresh)
    checkResponse('joined, cache hit', { ...expected, cacheStatus: /; hit\b/ }, hit)
    if (turn < 0) continue
    if (turn === 0) since = await cpuOf(edge.pid)
    times.fresh.push(fresh.ms)
    times.hit.push(hit.ms)
  }
  const cpu = ((await cpuOf(edge.pid)) - since) / 1000 / (rounds - 1)
  await close()
  return { fresh: medianOf(times.fresh), hit: medianOf(times.hit), cpu }
}

const ONE = '/syscollector/003/packages?limit=2'

/** Returns medians of a request to one node, through the edge and directly, in alternation. */
export async function oneNode(
  edge: Running,
  port: number,
  rounds: number,
): Promise<{ edge: number; node: number; more: number }> {
  const [through, direct] = [caller(edge.url), caller(`http://${addressOf(2)}:${port}`)]
  const pairs: { readonly edge: number; readonly node: number }[] = []
  for (let turn = -WARM; turn < rounds; turn++) {
    const [a, b] = [await through.ask(ONE, true), await direct.ask(ONE, true)]
    checkResponse('one node, through the edge', { status: 200, length: b.body.length, cacheStatus: /fwd=/ }, a)
    checkResponse('one node', { status: 200, length: b.body.length }, b)
    if (!a.body.equals(b.body)) throw new WrongResponseError(`one node: ${a.body.toString('utf8', 0, 300)}`)
    if (turn >= 0) pairs.push({ edge: a.ms, node: b.ms })
  }
  await Promise.all([through.close(), direct.close()])
  const more = medianOf(pairs.map((pair) => pair.edge - pair.node))
  return { edge: medianOf(pairs.map((pair) => pair.edge)), node: medianOf(pairs.map((pair) => pair.node)), more }
}
