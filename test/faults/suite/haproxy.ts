/** HAProxy with the shipped configuration file, in front of replicas on this machine. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually } from '../../support/eventually.ts'
import { installed } from '../../support/installed.ts'
import { freePort } from '../../support/redis.ts'
import { NotRun } from './promise.ts'

export interface Balancer {
  readonly url: string
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

/** Throws `NotRun` with instructions if HAProxy is missing and cannot be installed. */
export async function startHaproxy(replicas: readonly Replica[]): Promise<Balancer> {
  const program = haproxyBinary()
  const folder = await mkdtemp(join(tmpdir(), 'manager-edge-haproxy-'))
  const [port, statistics] = [await freePort(), await freePort()]
  const file = join(folder, 'haproxy.cfg')
  await writeFile(file, configuration(await readFile(SHIPPED, 'utf8'), replicas, port, statistics))
  const child = spawn(program, ['-db', '-f', file], { stdio: ['ignore', 'ignore', 'pipe'] })
  const kill = () => void child.kill('SIGKILL')
  process.once('exit', kill)
  let errors = ''
  child.stderr.on('data', (text) => {
    errors += text
  })
  const replicasIn = (state: 'UP' | 'DOWN', count: number) =>
    eventually(async () => {
      if (child.exitCode !== null) throw new Error(`haproxy ended with ${child.exitCode}: ${errors}`)
      const page = await fetch(`http://127.0.0.1:${statistics}/;csv`).then(
        (response) => response.text(),
        () => '',
      )
      return (
        page.split('\n').filter((line) => /^edges,edge-\d+,/.test(line) && line.includes(`,${state},`)).length === count
      )
    })
  const replicasUp = (count: number) => replicasIn('UP', count)
  await replicasUp(replicas.length)
  return {
    url: `http://127.0.0.1:${port}`,
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

/** Replaces only places of the shipped file, and its limit of connections, which needs many files. */
function configuration(shipped: string, replicas: readonly Replica[], port: number, statistics: number): string {
  const servers = replicas.map(
    (replica, at) => `    server edge-${at + 1} 127.0.0.1:${replica.port} port ${replica.operationsPort}\n`,
  )
  const own = shipped
    .replace(/^resolvers docker\n(?: .*\n)+/m, '')
    .replace(/ resolvers docker init-addr \S+/, '')
    .replace('maxconn 20000', 'maxconn 4000')
    .replace('bind :55000', `bind 127.0.0.1:${port}`)
    .replace(/(?:^ {4}server edge-\d+ .*\n?)+/m, servers.join(''))
  return `${own}\nfrontend statistics\n    bind 127.0.0.1:${statistics}\n    stats enable\n    stats uri /\n`
}
