/**
 * `manager-edge doctor`: what `check --connect` tries, and the surroundings of the edge: names, certificates, clocks, round trips,
 * file descriptors and the timeouts of a balancer. Findings that are not good have a command or a setting as their fix.
 */
import { lookup } from 'node:dns/promises'
import { readFile } from 'node:fs/promises'
import { Agent } from 'undici'
import { readTls } from '../../../../src/app/cluster.ts'
import { checkConnections, checkStart, withRedis } from '../../../../src/cli/check.ts'
import { type Finding, failure, printJson, singleLine } from '../../../../src/cli/output.ts'
import { hostOf, redisPlaces } from '../../../../src/cli/places.ts'
import { CommandError, loadCommandConfig, print } from '../../../../src/cli/terminal.ts'
import type { Config } from '../../../../src/config/schema.ts'
import { DEFAULT_TIMES } from '../../../../src/replicas/options.ts'
import type { NodeTls } from '../../../../src/upstream/options.ts'
import { certificateFindings } from './certificate-chains.ts'
import { readTextFile } from './edge-client.ts'
import { coloured, createProgressLine, formatTime } from './output.ts'

export interface DoctorOptions {
  readonly config?: string
  /** A file of HAProxy or nginx. */
  readonly balancer?: string
  readonly json?: true
}

export async function doctor({ config: file, balancer, json }: DoctorOptions): Promise<void> {
  const config = await loadCommandConfig(file)
  const balancerText = balancer === undefined ? undefined : await readTextFile(balancer)
  const findings = (await startFindings(config)) ?? (await surroundingFindings(config))
  const all =
    balancer === undefined || balancerText === undefined
      ? findings
      : [...findings, ...balancerFindings(balancer, balancerText, config)]
  if (json) printJson({ findings: all })
  else for (const finding of all) printFinding(finding)
  const bad = all.filter(({ status }) => status !== 'ok').length
  if (bad > 0) throw new CommandError(`${bad} of ${all.length} findings are not good; the lines above have the fixes`)
}

const STYLES = { ok: 'green', warning: 'yellow', failed: 'red' } as const

/** Texts may contain names of certificates and errors of servers. */
function printFinding({ check, status, text, fix }: Finding): void {
  print(`${coloured(STYLES[status], status.padEnd(7))}  ${check}: ${singleLine(text)}`)
  if (fix !== undefined) print(`         fix: ${singleLine(fix)}`)
}

/** Returns why the edge cannot start, or `undefined`. Nothing else is tried with files that cannot be read. */
async function startFindings(config: Config): Promise<readonly Finding[] | undefined> {
  try {
    await checkStart(config)
    return undefined
  } catch (error) {
    if (error instanceof CommandError) return error.message.split('\n').map((line) => failure('start', line))
    throw error
  }
}

async function surroundingFindings(config: Config): Promise<readonly Finding[]> {
  const checks = [
    connectionFindings,
    nameFindings,
    certificateFindings,
    nodeFindings,
    redisFindings,
    descriptorFindings,
  ] as const
  const progress = createProgressLine()
  const findings: Finding[] = []
  for (const [at, check] of checks.entries()) {
    progress.showPart(at, checks.length, 'checks')
    findings.push(...(await check(config)))
  }
  progress.clear()
  return findings
}

/** What `check --connect` prints: layout, version and credentials of each node, rights of the account, Redis, the issuer. */
async function connectionFindings(config: Config): Promise<readonly Finding[]> {
  const findings: Finding[] = []
  await checkConnections(config, (finding) => findings.push(finding))
  return findings
}

function nameFindings({ cluster, cache }: Config): Promise<readonly Finding[]> {
  const hosts = [
    ...cluster.nodes.map(({ name, url }) => ({ check: `${name} name`, host: hostOf(url) })),
    ...redisPlaces(cache.redis).map(({ host }) => ({ check: 'redis name', host })),
  ]
  return Promise.all(hosts.map(nameFinding))
}

async function nameFinding({ check, host }: { readonly check: string; readonly host: string }): Promise<Finding> {
  try {
    const addresses = await lookup(host, { all: true })
    return { check, status: 'ok', text: `${host} is ${addresses.map(({ address }) => address).join(', ')}` }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const fix = `correct the name in the configuration, or the DNS; to see it: getent hosts ${host}`
    return { check, status: 'failed', text: `${host} has no address (${code})`, fix }
  }
}

/** Returns the round trip and the clock of each node. */
async function nodeFindings(config: Config): Promise<readonly Finding[]> {
  const tls = await readTls(config)
  const found = await Promise.all(config.cluster.nodes.map(({ name, url }) => tripFindings({ name, url, tls })))
  return found.flat()
}

interface NodePlace {
  readonly name: string
  readonly url: string
  readonly tls: NodeTls
}

const TIMEOUT_MS = 5000
const SLOW_ROUND_TRIP_MS = 100
const ROUND_TRIPS = 3

/** Sends no credentials: any response has a date. So the certificate does not matter, which has its own finding. */
async function tripFindings({ name, url, tls }: NodePlace): Promise<readonly Finding[]> {
  const connect = { timeout: TIMEOUT_MS, ...tls, rejectUnauthorized: false }
  const agent = new Agent({ connect, headersTimeout: TIMEOUT_MS, bodyTimeout: TIMEOUT_MS })
  const check = `${name} round trip`
  try {
    // The first request opens the connection.
    const { ahead } = await request(agent, url)
    const times: number[] = []
    for (let count = 0; count < ROUND_TRIPS; count++) times.push((await request(agent, url)).ms)
    const ms = Math.min(...times)
    const isSlow = ms > SLOW_ROUND_TRIP_MS
    const fix = { fix: `place the edge nearer to the node; to see the network: ping -c 5 ${hostOf(url)}` }
    const trip: Finding = { check, status: isSlow ? 'warning' : 'ok', text: formatTime(ms), ...(isSlow && fix) }
    return ahead === undefined ? [trip] : [trip, clockFinding(`${name} clock`, ahead)]
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException
    const fix = `start the node, or open the network to it; to see it: curl -kv ${url}`
    return [{ check, status: 'failed', text: `no response: ${code ?? message}`, fix }]
  } finally {
    await agent.destroy()
  }
}

/** `ahead`: milliseconds that the clock of the node is ahead; `undefined` if the response has no date. */
async function request(agent: Agent, url: string): Promise<{ readonly ms: number; readonly ahead?: number }> {
  const startedAt = performance.now()
  const { headers, body } = await agent.request({ origin: new URL(url).origin, path: '/', method: 'GET' })
  const now = Date.now()
  const date = Date.parse(String(headers.date))
  await body.dump()
  const ms = performance.now() - startedAt
  return Number.isFinite(date) ? { ms, ahead: date + HALF_SECOND_MS - now } : { ms }
}

/** Clocks are read in whole seconds, which are rounded down. */
const HALF_SECOND_MS = 500
const MAX_CLOCK_DIFFERENCE_MS = 2000

/** `ahead`: milliseconds that the other clock is ahead. */
function clockFinding(check: string, ahead: number): Finding {
  const difference = Math.abs(ahead)
  if (difference <= MAX_CLOCK_DIFFERENCE_MS) {
    return { check, status: 'ok', text: 'within 2 s of the clock of this machine' }
  }
  const text = `${formatTime(difference)} ${ahead > 0 ? 'ahead of' : 'behind'} the clock of this machine`
  return { check, status: 'warning', text, fix: 'on the machine whose clock is wrong: chronyc makestep' }
}

/** Returns the round trip and the clock of Redis. Why Redis cannot be used is among the connections. */
async function redisFindings({ cache: { redis } }: Config): Promise<readonly Finding[]> {
  const found = await withRedis(redis, async (connection) => {
    const times: number[] = []
    let ahead = 0
    for (let count = 0; count < ROUND_TRIPS; count++) {
      const startedAt = performance.now()
      const reply = await connection.send<(string | number)[]>(DEFAULT_TIMES.bulkTimeout, (client) => client.time())
      if (!reply.ok) return []
      times.push(performance.now() - startedAt)
      ahead = Number(reply.value[0]) * 1000 + HALF_SECOND_MS - Date.now()
    }
    return [redisTripFinding(Math.min(...times), redis.timeout), clockFinding('redis clock', ahead)]
  })
  return found ?? []
}

function redisTripFinding(ms: number, timeout: number): Finding {
  const check = 'redis round trip'
  const text = `${formatTime(ms)}, cache.redis.timeout is ${formatTime(timeout)}`
  if (ms < timeout) return { check, status: 'ok', text }
  return { check, status: 'warning', text, fix: 'place Redis nearer to the edge, or raise cache.redis.timeout' }
}

/** Each connection of a client has a descriptor. Shells often have 1,024 or 4,096. */
const MIN_DESCRIPTORS = 10_000
/** As in the unit that the packages install. */
const SERVICE_DESCRIPTORS = 65_536

/** The limit of this process, which that of a service may differ from. Node.js has raised it as far as the system allows. */
async function descriptorFindings(): Promise<readonly Finding[]> {
  const check = 'file descriptors'
  const limits = await readFile('/proc/self/limits', 'utf8').catch(() => '')
  const [, limit] = /^Max open files\s+(\d+)/m.exec(limits) ?? []
  if (limit === undefined) return []
  const text = `at most ${limit} in this shell; each connection of a client needs one`
  if (Number(limit) >= MIN_DESCRIPTORS) return [{ check, status: 'ok', text }]
  const fix = `ulimit -n ${SERVICE_DESCRIPTORS}; of a service: LimitNOFILE=${SERVICE_DESCRIPTORS} in its unit`
  return [{ check, status: 'warning', text, fix }]
}

const UNITS: Readonly<Record<string, number>> = { us: 0.001, ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** A timeout of the file, or a default that applies because the file does not set it. */
interface Timeout {
  /** As the file has it, without its value. */
  readonly name: string
  readonly ms: number
  /** Where it is in the text without comments; `undefined`: the default. */
  readonly at?: number
  /** How the file ends a setting. */
  readonly end: '' | ';'
}

interface Timeouts {
  /** How long the balancer waits for a response of the edge. */
  readonly read: readonly Timeout[]
  /** How long the balancer leaves a connection to the edge idle. */
  readonly idle: readonly Timeout[]
}

/** Compares the timeouts in a file of HAProxy or nginx with those of the edge. `text`: the content of `file`. */
export function balancerFindings(file: string, text: string, { cluster, listen }: Config): readonly Finding[] {
  const check = 'balancer'
  // The numbers of the lines stay as they are.
  const settings = text.replace(/#.*/g, '')
  const { read, idle } = /\bproxy_pass\b/.test(settings) ? nginxTimeouts(settings) : haproxyTimeouts(settings)
  if (read.length + idle.length === 0) {
    const fix = 'name the file that has the timeouts of HAProxy ("timeout server") or nginx ("proxy_pass")'
    return [{ check, status: 'warning', text: `${file} has no timeouts for the edge`, fix }]
  }
  const place = ({ at }: Timeout) => (at === undefined ? file : `${file}:${settings.slice(0, at).split('\n').length}`)
  const describe = ({ name, ms, at }: Timeout) => `${name} is ${formatTime(ms)}${at === undefined ? ' by default' : ''}`
  const slow = cluster.limits.slowTimeout
  const edgeIdle = listen.timeouts.idle
  return [
    ...read.map((each): Finding => {
      const found = `${describe(each)}, cluster.limits.slowTimeout is ${formatTime(slow)}`
      if (each.ms > slow) return { check, status: 'ok', text: found }
      const fix = `in ${place(each)}: ${each.name} ${Math.ceil((slow * 1.2) / 1000)}s${each.end}`
      return { check, status: 'failed', text: `${found}: the balancer ends requests before the edge has answered`, fix }
    }),
    ...idle.map((each): Finding => {
      const found = `${describe(each)}, listen.timeouts.idle is ${formatTime(edgeIdle)}`
      if (each.ms < edgeIdle) return { check, status: 'ok', text: found }
      const fix = `in ${place(each)}: ${each.name} ${Math.floor(edgeIdle * 0.8)}ms${each.end}`
      return { check, status: 'failed', text: `${found}: the edge closes connections that the balancer uses`, fix }
    }),
  ]
}

/** A connection to the edge is idle as long as that of the client. Without its own timeout, HAProxy takes the next one. */
const HAPROXY_IDLE = ['http-keep-alive', 'http-request', 'client']

function haproxyTimeouts(settings: string): Timeouts {
  const all = [...settings.matchAll(/^[ \t]*timeout[ \t]+([\w-]+)[ \t]+(\w+)/gm)].map(
    ({ 1: name = '', 2: value = '', index }) => ({
      key: name,
      // 0 turns a timeout off.
      timeout: { name: `timeout ${name}`, ms: parseTime(value, 1) || Infinity, at: index, end: '' as const },
    }),
  )
  const named = (name: string) => all.flatMap(({ key, timeout }) => (key === name ? [timeout] : []))
  return { read: named('server'), idle: HAPROXY_IDLE.map(named).find(({ length }) => length > 0) ?? [] }
}

/** https://nginx.org/en/docs/http/ngx_http_proxy_module.html, and ngx_http_upstream_module.html beside it. */
const NGINX_DEFAULT_MS = 60_000

function nginxTimeouts(settings: string): Timeouts {
  const end = ';' as const
  const name = 'proxy_read_timeout'
  const read: readonly Timeout[] = [...settings.matchAll(/\bproxy_read_timeout\s+([^;]+);/g)].map(
    ({ 1: value = '', index }) => ({
      name,
      ms: parseTime(value, 1000),
      at: index,
      end,
    }),
  )
  // Outside an upstream group, keepalive_timeout is for connections of clients.
  const groups = [...settings.matchAll(/\bupstream\s+\S+\s*\{([^}]*)\}/g)]
  const idle = groups.flatMap(({ 0: group, 1: lines = '', index }): Timeout[] => {
    if (!/\bkeepalive\s+[1-9]/.test(lines)) return []
    const found = /\bkeepalive_timeout\s+([^;]+);/.exec(group)
    const at = found === null ? {} : { at: index + found.index }
    return [{ name: 'keepalive_timeout', ms: found ? parseTime(found[1] ?? '', 1000) : NGINX_DEFAULT_MS, ...at, end }]
  })
  return { read: read.length > 0 ? read : [{ name, ms: NGINX_DEFAULT_MS, end }], idle }
}

/** Returns milliseconds. nginx adds up values such as `1m 30s`. `unit`: milliseconds of a number without a unit. */
function parseTime(text: string, unit: number): number {
  const parts = [...text.matchAll(/(\d+)(us|ms|[smhd])?/g)]
  return parts.reduce((sum, [, digits, name]) => sum + Number(digits) * (UNITS[name ?? ''] ?? unit), 0)
}
