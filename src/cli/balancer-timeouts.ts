/** The part of `manager-edge doctor` that compares the timeouts in a file of HAProxy or nginx with those of the edge. */
import type { Config } from '../config/schema.ts'
import type { Finding } from './output.ts'
import { formatTime } from './output.ts'

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

/** `text`: the content of `file`. */
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

/** A connection to the edge is idle as long as that of the client. Without a timeout of its own, HAProxy takes the next one. */
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
