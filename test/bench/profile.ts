/**
 * Shows where the CPU time of each kind of hit goes (`npm run bench:profile`). For each kind, a profile of V8 is taken in
 * the edge while it is under load, and summed by room and by function. The profiler itself costs some CPU time, so the
 * figures are for comparing parts of a hit; `npm run bench` measures the hit.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startRedis } from '../support/redis.ts'
import { readOptions } from '../support/script-options.ts'
import { type Case, contenders, EDGE, EDGE_OFF, kinds, NODE, NODE_TLS } from './cases.ts'
import { bare } from './contenders.ts'
import { load, START_MS, warmUp } from './load.ts'
import { type Profile, type Shares, sharesOf } from './profile/shares.ts'

const { values } = readOptions({
  name: 'bench:profile',
  purpose: 'Shows the CPU time of each kind of hit by room and by function, from a profile under load.',
  options: {
    only: { kind: 'pattern', meaning: `kinds of hits (default: all): ${Object.keys(kinds).join(', ')}` },
    bare: { kind: 'flag', meaning: 'also take profiles of bare node:http and node:https' },
    seconds: { kind: 'number', value: 'SECONDS', meaning: 'duration of each profile (default 4)' },
    functions: { kind: 'number', meaning: 'functions to print (default 25)' },
  },
})
const { only = /(?:)/, seconds = 4, functions = 25 } = values
const rows: readonly string[] = [EDGE, EDGE_OFF, ...(values.bare ? [NODE, NODE_TLS] : [])]
const opened: { stop(): Promise<void> }[] = []

async function profile(each: Case, file: string): Promise<{ readonly cpu: number; readonly shares: Shares }> {
  const { kind, server, path, headers, traffic, expected } = each
  const target = { name: kind, url: server.url + path, headers, pid: server.pid, expected, ...(traffic && { traffic }) }
  await warmUp(target)
  const running = load(target, seconds + 2)
  const taking = (async () => {
    await sleep(2 * START_MS)
    process.kill(server.pid, 'SIGUSR2')
    await sleep(seconds * 1000)
    process.kill(server.pid, 'SIGUSR2')
  })()
  const [{ cpu }] = await Promise.all([running, taking])
  const found = JSON.parse(await written(file)) as Profile & { readonly error?: string }
  if (found.error !== undefined) throw new Error(found.error)
  await rm(file)
  return { cpu, shares: sharesOf(found) }
}

/** The process writes the profile when it gets to it. */
async function written(file: string): Promise<string> {
  for (let turn = 0; turn < 300; turn++) {
    const text = await readFile(file, 'utf8').catch(() => undefined)
    if (text !== undefined) return text
    await sleep(100)
  }
  throw new Error('the edge has written no profile within 30 s')
}

function print({ kind, row }: Case, measured: number, { rooms, functions: all, samples, profiler }: Shares): void {
  const cpu = measured * (1 - profiler)
  const line = ([name, share]: readonly [string, number]): string =>
    `  ${(share * 100).toFixed(1).padStart(5)} % ${(share * cpu).toFixed(2).padStart(8)} µs  ${name}`
  console.log(
    `\n${kind} (${kinds[kind]}), ${row}: ${cpu.toFixed(1)} µs of CPU per request with profiler, ${samples} samples`,
  )
  for (const each of rooms.filter(([, share]) => share >= 0.001)) console.log(line(each))
  console.log(`  the ${functions} functions with the largest share, without the functions that they call`)
  for (const each of all.slice(0, functions)) console.log(line(each))
}

/** Bare Node answers the small request in several kinds. */
const isOwn = ({ row, kind }: Case): boolean => row !== NODE || ['small', 'medium', 'large'].includes(kind)

// The certificates are those of the tests.
process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
process.removeAllListeners('warning')
const folder = await mkdtemp(join(tmpdir(), 'edge-profile-'))
try {
  const origin = await bare()
  opened.push(origin)
  const redis = await startRedis()
  opened.push({ stop: () => redis.close() })
  for (const { name, kinds, start, cases } of contenders({
    folder,
    origin: origin.url,
    redis: redis.url,
    profiles: folder,
  })) {
    if (!rows.some((row) => name.startsWith(row)) || !kinds.some((kind) => only.test(kind))) continue
    const server = await start()
    if (typeof server === 'string') throw new Error(server)
    opened.push(server)
    for (const each of await cases(server))
      if (rows.includes(each.row) && isOwn(each) && only.test(each.kind)) {
        const { cpu, shares } = await profile(each, join(folder, `${server.pid}.cpuprofile`))
        print(each, cpu, shares)
      }
  }
} finally {
  for (const each of opened.reverse()) await each.stop()
  await rm(folder, { recursive: true, force: true })
}
