/** HAProxy with the shipped configuration file, in front of replicas on this machine. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../../packages/simulator/src/free-port.ts'
import { eventually } from '../../support/eventually.ts'
import { installed } from '../../support/installed.ts'
import { NotRun } from './promise.ts'

export interface Balancer {
  readonly url: string
  /** The address of the statistics page of the shipped file. */
  readonly statistics: string
  /** Returns the replicas that get requests. `UP 1/2` is a replica whose first failed check does not count yet. */
  up(): Promise<string[]>
  /** Resolves when HAProxy considers exactly this number of replicas as up. */
  replicasUp(count: number): Promise<void>
  /** Resolves when it has taken out exactly this number of replicas. */
  replicasDown(count: number): Promise<void>
  close(): Promise<void>
}

interface Replica {
  readonly port: number
  readonly operationsPort: number
}

const SHIPPED = new URL('../../../config/haproxy.cfg', import.meta.url)

export interface BalancerOptions {
  /** Wait for so many replicas; by default for all. */
  readonly awaited?: number
  /** Soft and hard limit of open files; by default that of this process. */
  readonly openFiles?: number
  /** Each response names its replica in the header `REPLICA_HEADER`. */
  readonly namesReplica?: true
}

export const REPLICA_HEADER = 'x-replica'

/** Throws `NotRun` with instructions if HAProxy is missing and cannot be installed. */
export async function startHaproxy(
  replicas: readonly Replica[],
  { awaited = replicas.length, openFiles, namesReplica }: BalancerOptions = {},
): Promise<Balancer> {
  const program = haproxyBinary()
  const folder = await mkdtemp(join(tmpdir(), 'manager-edge-haproxy-'))
  const [port, statistics] = [await freePort(), await freePort()]
  const file = join(folder, 'haproxy.cfg')
  const shipped = configuration(await readFile(SHIPPED, 'utf8'), replicas, port)
  const header = namesReplica ? `    http-response set-header ${REPLICA_HEADER} %s\n` : ''
  await writeFile(file, shipped.replace('backend edges\n', `$&${header}`))
  const limit = openFiles === undefined ? '' : `ulimit -n ${openFiles} && `
  const child = spawn('sh', ['-c', `${limit}exec "$0" -db -f "$1"`, program, file], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, STATISTICS: `127.0.0.1:${statistics}` },
  })
  const kill = () => void child.kill('SIGKILL')
  process.once('exit', kill)
  let errors = ''
  child.stderr.on('data', (text) => {
    errors += text
  })
  /** Returns the state of each replica, such as `edge-1` and `UP`. */
  const states = async (): Promise<(readonly [name: string, state: string])[]> => {
    if (child.exitCode !== null) throw new Error(`haproxy ended with ${child.exitCode}: ${errors}`)
    const page = await fetch(`http://127.0.0.1:${statistics}/;csv`).then(
      (response) => response.text(),
      () => '',
    )
    const rows = page.split('\n').map((line) => line.split(','))
    return rows.flatMap(([, name = '', ...row]) => (/^edge-/.test(name) ? [[name, row[15] ?? ''] as const] : []))
  }
  const replicasIn = (wanted: 'UP' | 'DOWN', count: number) =>
    eventually(async () => (await states()).filter(([, state]) => state === wanted).length === count)
  const replicasUp = (count: number) => replicasIn('UP', count)
  await replicasUp(awaited)
  return {
    url: `http://127.0.0.1:${port}`,
    statistics: `http://127.0.0.1:${statistics}/`,
    up: async () => (await states()).flatMap(([name, state]) => (state.startsWith('UP') ? name : [])),
    replicasUp,
    replicasDown: (count) => replicasIn('DOWN', count),
    close: async () => {
      process.off('exit', kill)
      const ended = once(child, 'exit')
      kill()
      await ended
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function haproxyBinary(): string {
  try {
    return installed({ variable: 'HAPROXY', names: ['haproxy'], package: 'haproxy' })
  } catch (error) {
    throw new NotRun((error as Error).message)
  }
}

/** Replaces only places of the shipped file. */
function configuration(shipped: string, replicas: readonly Replica[], port: number): string {
  const servers = replicas.map(
    (replica, at) => `    server edge-${at + 1} 127.0.0.1:${replica.port} port ${replica.operationsPort}\n`,
  )
  return shipped
    .replace('bind :55000', `bind 127.0.0.1:${port}`)
    .replace(/(?:^ {4}server edge-\d+ .*\n?)+/m, servers.join(''))
}
