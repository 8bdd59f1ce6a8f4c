/** An edge with two processes behind one port, as the built program, in front of a simulated cluster and a Redis. */
import { readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { hash } from '@node-rs/bcrypt'
import type { Test } from 'tap'
import { stringify } from 'yaml'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { createKeyFile } from '../../../src/access/signing-keys.ts'
import { startRedis } from '../../support/redis.ts'
import { type ProgramOptions, program, type Running } from '../process/program.ts'

const account = { username: 'edge', password: 'only-for-tests' }
export const authorization = `Basic ${btoa('admin:admin-pw')}`

export interface Answer {
  readonly status: number
  readonly body: string
}

export type Settings = Record<string, Record<string, unknown>>

export async function stage(t: Test) {
  const simulator = await startSimulator({ workers: 1, agents: 5, ...account })
  t.teardown(() => simulator.close())
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const folder = t.testdir({ keys: {}, users: `admin:${await hash('admin-pw', 4)}\n` })
  await createKeyFile(join(folder, 'keys'))
  const file = join(folder, 'edge.yaml')
  const settings: Settings = {
    listen: { port: 0, processes: 2, drain: { delay: '0s', limit: '20s' } },
    operations: { port: 0, metrics: 'open' },
    cluster: { nodes: simulator.nodes.map(({ name, type, url }) => ({ name, type, url })), credentials: account },
    cache: { redis: { url: redis.url, timeout: '1s' } },
    access: { users: 'users', tokens: { keys: 'keys' }, roles: { admin: ['administrator'] } },
    replica: { name: 'edge' },
  }
  /** Writes the file with these members instead of those above. */
  const write = (change: Settings = {}) => {
    const merged = Object.entries({ ...settings, ...change }).map(([name, group]) => [
      name,
      { ...settings[name], ...group },
    ])
    writeFileSync(file, stringify(Object.fromEntries(merged)))
  }
  write()
  return { simulator, redis, folder, file, write }
}

export type Stage = Awaited<ReturnType<typeof stage>>

/** Starts the program and waits until all processes listen; one process has no supervisor. */
export async function start(
  t: Parameters<typeof program>[0],
  file: string,
  processes = 2,
  options: ProgramOptions = {},
) {
  const running = program(t, ['start', '--config', file], options)
  const last = processes === 1 ? '"replica"' : `"processes":${processes}`
  const line = new RegExp(`"operationsUrl":"([^"]+)","url":"([^"]+)",${last}`)
  const [, operationsUrl = '', url = ''] = await running.until(line)
  return { ...running, operationsUrl, url }
}

/** Sends a request over a connection of its own. Rejects if there is no response. */
export function send(url: string, method = 'GET'): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, agent: false, headers: { authorization } }, (response) => {
      let body = ''
      response.setEncoding('utf8').on('data', (text) => {
        body += text
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }))
      response.on('error', reject)
    })
    sent.on('error', reject)
    sent.end()
  })
}

/** Returns the lines of the log that have this message. */
export function linesOf({ output }: Pick<Running, 'output'>, message: string): Record<string, unknown>[] {
  return output()
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ msg }) => msg === message)
}

/** Returns the ids of the processes that listen, by their number. */
export async function pidsOf(edge: Pick<Running, 'child'>): Promise<readonly number[]> {
  const { readFile } = await import('node:fs/promises')
  const { pid } = edge.child
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return text.trim().split(' ').map(Number)
}

/** Returns the id of the process with this number. */
export async function pidOf(edge: Pick<Running, 'child'>, number: number): Promise<number> {
  const pids = await pidsOf(edge)
  const pid = pids.find((each) => readFileSync(`/proc/${each}/cmdline`, 'utf8').includes(`--number\0${number}\0`))
  if (pid === undefined) throw new Error(`no process has the number ${number}`)
  return pid
}

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** Returns the sum of the samples of a metric. */
export function sampleOf(text: string, name: string, label = ''): number {
  const lines = text.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
  return lines
    .filter((line) => line.includes(label))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
}
