/** How many processes serve the ports of one edge (`listen.processes`), and what each of them has for itself. */
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, parse } from 'node:path'
import type { Config } from '../config/schema.ts'

/** The highest number that the setting accepts. */
const MAX_AUTO = 64

/** Returns the number of processes; `auto`: one for each core that this process may use, rounded down, at least one. */
export function processCountOf({ listen }: Pick<Config, 'listen'>): number {
  if (listen.processes !== 'auto') return listen.processes
  return Math.min(MAX_AUTO, Math.max(1, Math.floor(Math.min(availableParallelism(), cpuQuota()))))
}

/**
 * Returns the cores that the control groups of this process grant (`cpu.max` of cgroup v2), which the limit of a container
 * sets; `Infinity` without a limit. Node counts the cores of the machine.
 */
export function cpuQuota(read: (file: string) => string = (file) => readFileSync(file, 'utf8')): number {
  const tryRead = (file: string): string => {
    try {
      return read(file)
    } catch {
      return ''
    }
  }
  const path = /^0::(\/.*)$/m.exec(tryRead('/proc/self/cgroup'))?.[1] ?? '/'
  let cores = Number.POSITIVE_INFINITY
  // A limit of a group applies to all groups below it.
  for (let group = path; ; group = parse(group).dir) {
    const [, quota, period] = /^(\d+) (\d+)/.exec(tryRead(join('/sys/fs/cgroup', group, 'cpu.max'))) ?? []
    if (quota !== undefined) cores = Math.min(cores, Number(quota) / Number(period))
    if (group === '/' || group === '') return cores
  }
}

/** One of the processes of an edge. */
export interface ProcessIdentity {
  /** From 1; a process that replaces another one has its number. */
  readonly number: number
  /** The name of the edge; the names of its processes begin with it. */
  readonly edge: string
  /** `listen.processes` when the edge started. A change needs a restart of the edge, not only of its processes. */
  readonly processes: Config['listen']['processes']
}

/** Returns the arguments of the command that runs one process (src/cli/commands.ts). */
export function processArguments({ number, edge, processes }: ProcessIdentity, file: string | undefined): string[] {
  const identity = ['--number', `${number}`, '--edge', edge, '--processes', `${processes}`]
  return ['process', ...identity, ...(file === undefined ? [] : ['--config', file])]
}

/** Returns the configuration of one process: each has its own name among the replicas, and its own audit file. */
export function configOfProcess(config: Config, { number, edge, processes }: ProcessIdentity): Config {
  const { replica, listen, audit } = config
  return {
    ...config,
    replica: { ...replica, name: `${replica.name ?? edge}-${number}` },
    listen: { ...listen, processes },
    audit: audit.file === undefined ? audit : { ...audit, file: auditFileOf(audit.file, number) },
  }
}

/** Returns `audit-1.jsonl` for `audit.jsonl`. Devices such as /dev/stdout take the records of all processes. */
export function auditFileOf(file: string, number: number): string {
  const { dir, name, ext } = parse(file)
  return dir === '/dev' ? file : join(dir, `${name}-${number}${ext}`)
}
