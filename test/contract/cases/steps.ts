/** Carries out the steps of a run and returns what differs from the expectations. */
import { copyFile, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { Received } from './client.ts'
import { callFaults, responseFaults } from './expectations.ts'
import {
  auditFaults,
  type Begin,
  exitFaults,
  handshakeFaults,
  logFaults,
  openFileFaults,
  openFilesOf,
  settled,
} from './observations.ts'
import type { Stage } from './rigs.ts'
import { createSender, type Sender } from './sender.ts'
import { fill, type Values } from './texts.ts'
import type { FileChange, Run, Step } from './vocabulary.ts'

/** Only a row that fails waits this long. */
const PATIENCE_MS = 10_000
const POLL_MS = 25

interface Course {
  readonly stage: Stage
  readonly sender: Sender
  readonly values: Values
  readonly saved: Map<string, string>
  readonly begin: Begin
  readonly background: Promise<readonly string[]>[]
}

/** `name`: of the run, unique. */
export async function replay(stage: Stage, run: Run, name: string): Promise<readonly string[]> {
  const faults: string[] = []
  for (let at = 0; at < (run.times ?? 1); at += 1) faults.push(...(await replayOnce(stage, run, `${name}${at || ''}`)))
  return faults
}

async function replayOnce(stage: Stage, { steps }: Run, name: string): Promise<readonly string[]> {
  const saved = new Map<string, string>([
    ['case', name],
    ['folder', stage.folder],
  ])
  for (const [server, { port }] of stage.redis?.servers ?? []) saved.set(`port ${server}`, String(port))
  const sender = createSender(stage, saved)
  const openFiles = stage.process === undefined ? 0 : await openFilesOf(stage.process.pid)
  const begin = { calls: stage.calls().length, lines: stage.log().length, openFiles }
  const course: Course = { stage, sender, values: sender.values, saved, begin, background: [] }
  stage.stub?.answer([])
  const faults: string[] = []
  try {
    for (const step of steps) faults.push(...(await take(course, step)))
    for (const later of course.background) faults.push(...(await later))
  } finally {
    sender.close()
  }
  return faults
}

/** The members of a step take effect in this order. */
async function take(course: Course, step: Step, onSent?: () => void): Promise<readonly string[]> {
  if (step.background && step.send !== undefined) {
    const { background: _, ...rest } = step
    await new Promise<void>((onSent) => {
      const end = take(course, rest, onSent)
      course.background.push(end)
      // A step that fails before it has sent something, or sends nothing, is awaited at the end.
      void end.catch(() => undefined).then(() => onSent())
    })
    return []
  }
  const before = course.stage.calls().length
  await change(course, step)
  const faults = step.send === undefined ? [] : await sendAndCompare(course, step, onSent)
  return [...faults, ...(await observe(course, step, before))]
}

async function change({ stage, values }: Course, step: Step): Promise<void> {
  if (step.wait !== undefined) await wait(step.wait)
  if (step.node !== undefined) {
    const rules = step.node.map(async (rule) => ({ ...rule, to: await fill(rule.to, values) }))
    stage.stub?.answer(await Promise.all(rules))
  }
  if (step.release) stage.stub?.release()
  if (step.nodeCertificate !== undefined) {
    const pair = stage.certificates.get(step.nodeCertificate)
    if (pair === undefined) throw new Error(`no certificate ${step.nodeCertificate}`)
    stage.stub?.present(pair)
  }
  if (step.file !== undefined) await changeFile(step.file, rootOf(stage))
  if (step.redis !== undefined) {
    const [server = '', ...args] = await Promise.all(step.redis.map((text) => fill(text, values)))
    if (step.background) stage.redis?.start(server, args)
    else await stage.redis?.command(server, args)
  }
  if (step.redisPrimary !== undefined) stage.redis?.lead(step.redisPrimary)
  if (step.signal !== undefined) {
    if (stage.process === undefined) throw new Error('the edge of this rig is no separate process')
    process.kill(stage.process.pid, step.signal)
  }
}

/** The folder as the edge has it: in a process with its own mounts, another one. */
function rootOf({ process: own, folder }: Stage): string {
  return own === undefined ? folder : `/proc/${own.pid}/root${folder}`
}

async function changeFile({ do: what, path, to = path, text = '' }: FileChange, folder: string): Promise<void> {
  const [from, target] = [join(folder, path), join(folder, to)]
  if (what === 'write') return writeFile(from, text)
  if (what === 'rename') return rename(from, target)
  if (what === 'copy') return copyFile(from, target)
  if (what === 'truncate') return truncate(from)
  if (what === 'remove') return rm(from)
  if (what === 'fill') return writeUntilFull(from)
  // Both put a new file in the place of `to` in one step.
  const prepared = `${target}.new`
  if (what === 'link') await symlink(path, prepared)
  else await copyFile(from, prepared)
  await rename(prepared, target)
}

async function writeUntilFull(file: string): Promise<void> {
  const fault: unknown = await writeFile(file, Buffer.alloc(1 << 24)).catch((error: unknown) => error)
  if ((fault as NodeJS.ErrnoException | undefined)?.code !== 'ENOSPC') throw new Error('the disk did not become full')
}

async function sendAndCompare(course: Course, step: Step, onSent?: () => void): Promise<string[]> {
  const { sender, values } = course
  const { send, expect, save, eventually } = step
  if (send === undefined) return []
  for (const begin = performance.now(); ; await wait(POLL_MS)) {
    const received = await sender.send(send, onSent)
    const faults = expect === undefined ? [] : await responseFaults(expect, received, values)
    if (eventually && faults.length > 0 && performance.now() - begin < PATIENCE_MS) continue
    for (const [name, source] of Object.entries(save ?? {})) course.saved.set(name, read(received.at(-1), source))
    return faults
  }
}

/** `header NAME`, `etag` (its opaque part), `body`, or `json PATH`. */
function read(received: Received | undefined, source: string): string {
  const [kind, name = ''] = source.split(' ')
  const etag = received?.headers.get('etag')
  if (kind === 'header') return received?.headers.get(name.toLowerCase()) ?? ''
  if (kind === 'etag') return /"(.*)"/.exec(etag ?? '')?.[1] ?? ''
  const text = received?.body.toString() ?? ''
  if (kind === 'body') return text
  if (kind !== 'json') throw new Error(`nothing is saved from ${source}`)
  let value: unknown = JSON.parse(text)
  for (const key of name.split('.')) value = (value as Readonly<Record<string, unknown>>)[key]
  return String(value)
}

async function observe(course: Course, step: Step, before: number): Promise<readonly string[]> {
  const { stage, values, begin } = course
  const faults: string[] = []
  for (const call of step.calls ?? []) {
    const since = { start: 0, run: begin.calls, step: before }[call.since ?? 'run']
    const compare = () => callFaults(call, stage.calls().slice(since), values)
    faults.push(...(await settled(step.callsWithinMs ?? 0, compare)))
  }
  if (step.log !== undefined) faults.push(...(await logFaults(step.log, () => stage.log().slice(begin.lines))))
  if (step.openFiles !== undefined) faults.push(...(await openFileFaults(step.openFiles, stage, begin)))
  if (step.audit !== undefined) faults.push(...(await auditFaults(step.audit, rootOf(stage))))
  if (step.handshake !== undefined) faults.push(...(await handshakeFaults(step.handshake, stage)))
  if (step.exit !== undefined) faults.push(...(await exitFaults(step.exit, stage)))
  return faults
}
