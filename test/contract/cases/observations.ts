/** What a row expects beside responses and calls: log lines, open files, the audit file, certificates, the end of the process. */
import { X509Certificate } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { connect } from 'node:tls'
import { verifyAudit } from '../../../src/audit/verify.ts'
import type { Stage } from './rigs.ts'
import type { Step } from './vocabulary.ts'

const POLL_MS = 20
const MAX_SHOWN = 200

/** Numbers when the run began. */
export interface Begin {
  readonly calls: number
  readonly lines: number
  readonly openFiles: number
}

type Wanted<Name extends keyof Step> = NonNullable<Step[Name]>

/** Polls until there is no fault, for at most this time. */
export async function settled(withinMs: number, look: () => Promise<readonly string[]>): Promise<readonly string[]> {
  for (const begin = performance.now(); ; await wait(POLL_MS)) {
    const faults = await look()
    if (faults.length === 0 || performance.now() - begin >= withinMs) return faults
  }
}

/** Levels as numbers: 40 is `warn`. */
export function logFaults({ matches, minLevel = 0, withinMs }: Wanted<'log'>, lines: () => readonly string[]) {
  const pattern = new RegExp(matches)
  return settled(withinMs, async () => {
    const isFound = lines().some((line) => pattern.test(line) && levelOf(line) >= minLevel)
    return isFound ? [] : [`no log line as ${matches}`]
  })
}

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal']

function levelOf(line: string): number {
  const { level } = JSON.parse(line) as { readonly level: number | string }
  return typeof level === 'number' ? level : 10 * (1 + LEVELS.indexOf(level.toLowerCase()))
}

export async function openFilesOf(pid: number): Promise<number> {
  return (await readdir(`/proc/${pid}/fd`)).length
}

export function openFileFaults({ atMostMore, withinMs }: Wanted<'openFiles'>, stage: Stage, begin: Begin) {
  return settled(withinMs, async () => {
    const open = await openFilesOf(stage.process?.pid ?? 0)
    return open <= begin.openFiles + atMostMore ? [] : [`${open} open files instead of ${begin.openFiles}`]
  })
}

interface AuditRecord {
  readonly seq: number
  readonly kind: string
  readonly outcome?: string
}

/** Each record is there once, in its place; `writes`: of so many writes that were carried out. */
export async function auditFaults({ files, writes, faults = [], notes = [] }: Wanted<'audit'>, folder: string) {
  const paths = files.map((file) => join(folder, file))
  const texts = await Promise.all(paths.map((path) => readFile(path, 'utf8')))
  const records = texts.flatMap((text) => text.split('\n').flatMap(recordsIn)).sort((a, b) => a.seq - b.seq)
  const found: string[] = []
  for (const [at, { seq }] of records.entries()) {
    const expected = (records[0]?.seq ?? 0) + at
    if (seq !== expected) found.push(`record ${seq} in place of ${expected}`)
  }
  const done = records.filter(({ kind, outcome }) => kind === 'outcome' && outcome === 'done').length
  if (writes !== undefined && done !== writes) found.push(`${done} writes in the audit file instead of ${writes}`)
  const verified = await verifyAudit(paths)
  found.push(...differing('fault', verified.faults, faults), ...differing('note', verified.notes, notes))
  return found.slice(0, 3)
}

function recordsIn(line: string): AuditRecord[] {
  try {
    return [JSON.parse(line) as AuditRecord]
  } catch {
    return []
  }
}

function differing(what: string, found: readonly string[], patterns: readonly string[]): string[] {
  const unexpected = found.filter((text) => !patterns.some((pattern) => new RegExp(pattern).test(text)))
  const missing = patterns.filter((pattern) => !found.some((text) => new RegExp(pattern).test(text)))
  return [
    ...unexpected.map((text) => `audit ${what} ${text.slice(0, MAX_SHOWN)}`),
    ...missing.map((pattern) => `no audit ${what} as ${pattern}`),
  ]
}

export function handshakeFaults({ certificate, withinMs }: Wanted<'handshake'>, stage: Stage) {
  const wanted = new X509Certificate(stage.certificates.get(certificate)?.cert ?? '').fingerprint256
  return settled(withinMs, async () => {
    const shown = await shownCertificate(stage.ports.first ?? 0)
    return shown === wanted ? [] : [`another certificate than ${certificate}`]
  })
}

function shownCertificate(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().fingerprint256)
      socket.destroy()
    })
    socket.on('error', reject)
  })
}

export async function exitFaults({ code, withinMs }: Wanted<'exit'>, { process: own }: Stage): Promise<string[]> {
  const ended = await Promise.race([own?.ended, wait(withinMs)])
  if (ended === undefined) return [`the process has not ended after ${withinMs} ms`]
  return ended.code === code ? [] : [`exit code ${ended.code} instead of ${code}`]
}
