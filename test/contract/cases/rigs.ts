/** Starts what the rows of one configuration share: an edge, its nodes, and Redis where the rig has it. */
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { hash } from '@node-rs/bcrypt'
import { stringify } from 'yaml'
import { type Simulator, startSimulator, type V4User } from '../../../packages/simulator/src/index.ts'
import { merge, type Settings, startEdge } from '../../support/edge.ts'
import { type Ended, program } from '../../system/process/program.ts'
import { authority, type Pair } from '../../unit/upstream/certificates.ts'
import { type RedisGroup, startRedisGroup } from './redis-group.ts'
import { type NodeCall, type StubNode, startStubNode } from './stub-node.ts'
import { fillTree } from './texts.ts'
import type { Rig } from './vocabulary.ts'

export type PortName = 'first' | 'second' | 'operations'

export interface Stage {
  readonly rig: Rig
  readonly ports: Readonly<Partial<Record<PortName, number>>>
  /** Whether the ports of clients have TLS. */
  readonly isSecure: boolean
  readonly folder: string
  readonly calls: () => readonly NodeCall[]
  readonly log: () => readonly string[]
  readonly certificates: ReadonlyMap<string, Pair>
  readonly stub: StubNode | undefined
  readonly redis: RedisGroup | undefined
  /** The program, if the edge is a separate process. */
  readonly process: EdgeProgram | undefined
  close(): Promise<void>
}

export interface EdgeProgram {
  /** The process of the edge: another one than the child if the command of the rig forks. */
  readonly pid: number
  readonly ended: Promise<Ended>
}

const PASSWORD = 'only-for-tests'
/** Of the tables of users; a rig may add some. */
const USERS: NonNullable<Rig['users']> = { edge: { password: 'Edge-Test-1', roles: ['administrator'] } }

export function usersOf(rig: Rig): NonNullable<Rig['users']> {
  return { ...USERS, ...rig.users }
}

export async function startRig(rig: Rig): Promise<Stage> {
  const ends: (() => unknown)[] = []
  const teardown = { teardown: (end: () => unknown) => void ends.push(end) }
  const close = async () => {
    for (const end of ends.toReversed()) await end()
  }
  try {
    const folder = await mkdtemp(join(tmpdir(), 'edge-cases-'))
    ends.push(() => rm(folder, { recursive: true, force: true }))
    await writeUsers(folder, rig)
    const certificates = await writeCertificates(teardown, folder, rig)
    const redis = rig.redis && (await startRedisGroup(rig.redis))
    if (redis) ends.push(redis.close)
    const stub = rig.stub && (await startStubNode(rig.stub, certificates.get(rig.stub.certificate ?? '')))
    const simulator = rig.simulate && (await startSimulator(worldOf(rig.simulate)))
    const nodesEnd = stub?.close ?? simulator?.close
    if (nodesEnd) ends.push(nodesEnd)
    const nodes = simulator?.nodes ?? [{ name: 'master', type: 'master' as const, url: stub?.url ?? '' }]
    const values = (name: string) => (name === 'folder' ? folder : name === 'redis' ? redis?.url : undefined)
    const settings = merge(settingsOf(rig, folder), await fillTree(rig.settings ?? {}, values))
    const edge = await (rig.process === undefined ? inProcess : asProgram)(teardown, { rig, folder, nodes, settings })
    const parts = { rig, folder, certificates, stub, redis, calls: callsOf(stub, simulator) }
    return { ...parts, ...edge, close }
  } catch (fault) {
    await close()
    throw fault
  }
}

interface Start {
  readonly rig: Rig
  readonly folder: string
  readonly nodes: Simulator['nodes']
  readonly settings: Settings
}

type Teardown = { teardown(end: () => unknown): void }

async function inProcess(t: Teardown, { nodes, settings }: Start) {
  const edge = await startEdge({ nodes, password: PASSWORD, settings })
  t.teardown(() => edge.close())
  return { ...placesOf(edge), log: () => edge.logged, process: undefined }
}

async function asProgram(t: Teardown, { rig, folder, nodes, settings }: Start) {
  const file = join(folder, 'edge.yaml')
  const places = { listen: { port: 0 }, operations: { port: 0, metrics: 'open' } }
  const cluster = { cluster: { nodes: nodes.map(({ name, type, url }) => ({ name, type, url })) } }
  const credentials = { cluster: { credentials: { username: 'edge', password: PASSWORD } } }
  await writeFile(file, stringify(merge(merge(merge(places, cluster), credentials), settings)), { mode: 0o600 })
  const script = join(folder, 'run.sh')
  const command = rig.process?.command ?? 'exec "$@"'
  await writeFile(script, `#!/bin/sh\nFOLDER=${folder}\nset -- ${process.execPath} "$@"\n${command}\n`, { mode: 0o700 })
  const running = program(t, ['start', '--config', file], { executable: script })
  const log = () =>
    running
      .output()
      .split('\n')
      .filter((line) => line.startsWith('{'))
  await running.until(/"msg":"listening"/)
  const urls = log()
    .map((line) => JSON.parse(line))
    .find(({ msg }) => msg === 'listening')
  const pid = await lastChild(running.child.pid ?? 0)
  return { ...placesOf(urls), log, process: { pid, ended: running.ended } }
}

function placesOf(urls: { readonly url: string; readonly secondUrl?: string; readonly operationsUrl: string }) {
  const { url, secondUrl, operationsUrl } = urls
  const portOf = (text: string) => Number(new URL(text).port)
  const second = secondUrl === undefined ? {} : { second: portOf(secondUrl) }
  const ports = { first: portOf(url), operations: portOf(operationsUrl), ...second }
  return { ports, isSecure: url.startsWith('https:') }
}

async function lastChild(pid: number): Promise<number> {
  const children = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim()
  return children === '' ? pid : lastChild(Number(children.split(' ')[0]))
}

function callsOf(stub: StubNode | undefined, simulator: Simulator | undefined): () => readonly NodeCall[] {
  return () => stub?.calls ?? simulator?.seen ?? []
}

function worldOf({ clockOffsetSeconds = 0, users, ...world }: NonNullable<Rig['simulate']>) {
  const offset = clockOffsetSeconds * 1000
  const v4 = users === undefined ? {} : { v4: { users: users as Readonly<Record<string, V4User>> } }
  return { ...world, ...v4, password: PASSWORD, now: () => new Date(Date.now() + offset) }
}

function settingsOf(rig: Rig, folder: string): Settings {
  const roles = Object.fromEntries(Object.entries(usersOf(rig)).map(([name, user]) => [name, user.roles]))
  const cluster = rig.stub === undefined ? {} : { cluster: { discover: false } }
  return { access: { users: join(folder, 'users'), roles }, ...cluster }
}

async function writeUsers(folder: string, rig: Rig): Promise<void> {
  // Cost 4 is the minimum of bcrypt: a test needs no protection against guessing.
  const lines = Object.entries(usersOf(rig)).map(async ([name, { password }]) => `${name}:${await hash(password, 4)}\n`)
  await writeFile(join(folder, 'users'), await Promise.all(lines), { mode: 0o600 })
}

/** Writes `NAME.crt` and `NAME.key` of all pairs, and `NAME.ca` of the authorities. `first` and `second` always exist. */
async function writeCertificates(t: Teardown, folder: string, rig: Rig): Promise<ReadonlyMap<string, Pair>> {
  const pairs = new Map<string, Pair>()
  const read = (name: string) =>
    readFile(new URL(`../../support/certificates/${name}`, import.meta.url).pathname, 'utf8')
  for (const name of ['first', 'second']) {
    pairs.set(name, { cert: await read(`${name}.crt`), key: await read(`${name}.key`) })
  }
  const authorities = new Map<string, Awaited<ReturnType<typeof authority>>>()
  for (const [name, { authority: by, subject, names, days }] of Object.entries(rig.certificates ?? {})) {
    const signing = authorities.get(by) ?? (await authority(t, by))
    authorities.set(by, signing)
    pairs.set(name, await signing.sign(names, days, subject))
  }
  const write = (name: string, text: string) => writeFile(join(folder, name), text, { mode: 0o600 })
  for (const [name, { cert, key }] of pairs) await Promise.all([write(`${name}.crt`, cert), write(`${name}.key`, key)])
  for (const [name, { cert }] of authorities) await write(`${name}.ca`, cert)
  for (const [name, from] of Object.entries(rig.files ?? {})) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await copyFile(join(folder, from), join(folder, name))
  }
  return pairs
}
