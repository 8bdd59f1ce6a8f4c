/** Problems of this replica and its files, and in comparison with other replicas. */
import { CLOCK_TOLERANCE_S } from '../../core/timing.ts'
import type { FoundProblem } from '../problem-types.ts'
import { namesOf, type ProblemSources, shortened, when } from './sources.ts'

export function openFileProblems({ exhaustedFiles }: ProblemSources): FoundProblem[] {
  const limit = exhaustedFiles?.()
  return when(limit !== undefined, {
    kind: 'openFilesUsedUp',
    severity: 'error',
    summary: 'The limit of open files is reached, and new connections are refused',
    detail: `The limit is ${limit}. Raise it, for example with LimitNOFILE in the unit of the service.`,
    openDetail: 'the limit of open files is reached; new connections are refused',
  })
}

export function tokenProblems({ tokenRecheck }: ProblemSources): FoundProblem[] {
  const { interval, configured } = tokenRecheck?.() ?? { interval: 0, configured: 0 }
  return when(interval > configured, {
    kind: 'tokensCheckedLate',
    severity: 'notice',
    summary: 'Tokens are checked less often than access.tokens.recheck',
    detail:
      'Many users of the manager are in use. If the manager ends a token past the edge, the edge notices it later, after access.tokens.recheckMax at the latest.',
  })
}

export function auditProblems({ audit }: ProblemSources): FoundProblem[] {
  const { isFailing, refuses } = audit()
  const effect = refuses ? 'Every write is rejected with error 936' : 'Writes are carried out without a record'
  return when(isFailing, {
    kind: 'auditNotWritten',
    severity: refuses ? 'error' : 'warning',
    summary: 'The latest audit record could not be written',
    detail: `${effect} until a record is written again. Check the disk of audit.file; the log has the reason.`,
  })
}

export function configurationProblems({ configuration }: ProblemSources): FoundProblem[] {
  const { fault, pendingRestart } = configuration()
  return [
    ...when(fault !== undefined, {
      kind: 'configurationNotReloaded',
      severity: 'warning',
      summary: 'The changed configuration is not valid, and the last valid one stays in use',
      detail: fault ?? '',
      openDetail: 'the changed configuration has a fault; the last valid one is in use',
    }),
    ...when(pendingRestart.length > 0, {
      kind: 'pendingRestart',
      severity: 'warning',
      summary: 'Changed settings take effect after a restart only',
      detail: `${pendingRestart.join(', ')}.`,
    }),
  ]
}

export function readinessProblems({ ready }: ProblemSources): FoundProblem[] {
  const { ok, reasons } = ready()
  const detail = 'Load balancers send no requests to this replica.'
  return when(!ok, { kind: 'notReady', severity: 'error', summary: `Not ready: ${reasons.join(', ')}`, detail })
}

const DAY_MS = 24 * 3600 * 1000

export const CERTIFICATE_WARNING_MS = 14 * DAY_MS

export function certificateProblems({ certificates }: ProblemSources, now: number): FoundProblem[] {
  return certificates()
    .filter(({ validTo }) => validTo - now < CERTIFICATE_WARNING_MS)
    .map(({ setting, validTo }) => {
      const hasEnded = validTo <= now
      const end = `${new Date(validTo).toISOString().slice(0, 16).replace('T', ' ')} UTC`
      return {
        kind: 'certificateEnds',
        severity: hasEnded ? 'error' : 'warning',
        summary: `The certificate of ${setting} ${hasEnded ? 'has ended' : `ends in ${daysUntil(validTo - now)}`}`,
        detail: `Its validity ${hasEnded ? 'ended' : 'ends'} at ${end}. Replace the file; no restart is needed.`,
      }
    })
}

function daysUntil(ms: number): string {
  const days = Math.floor(ms / DAY_MS)
  return days === 0 ? 'less than a day' : days === 1 ? '1 day' : `${days} days`
}

export function replicaProblems({ replicas, settingDifferences }: ProblemSources): FoundProblem[] {
  const others = replicas?.() ?? []
  const notReady = others.filter(({ ready, draining }) => !ready && draining !== true)
  const otherClocks = others.flatMap(({ name, clockAhead = 0 }) =>
    Math.abs(clockAhead) > CLOCK_TOLERANCE_S * 1000 ? [{ name, clockAhead }] : [],
  )
  const differences = settingDifferences?.() ?? []
  const differing = [...new Set(differences.flatMap((each) => each.replicas))]
  return [
    ...when(notReady.length > 0, {
      kind: 'replicaNotReady',
      severity: 'warning',
      summary: `Another replica is not ready: ${namesOf(notReady)}`,
      detail: 'Load balancers send no requests to it. Its own console names the reason.',
      openDetail:
        notReady.length === 1 ? '1 other replica is not ready' : `${notReady.length} other replicas are not ready`,
      view: 'nodes',
    }),
    ...when(otherClocks.length > 0, {
      kind: 'clocksDiffer',
      severity: 'error',
      summary: `Clocks of replicas differ: ${shortened(otherClocks.map(({ name, clockAhead }) => `${name} is ${secondsOf(clockAhead)} this replica`))}`,
      detail: 'Replicas refuse tokens and sessions of each other. Synchronise the clocks of their hosts (NTP).',
      openDetail: 'the clocks of replicas differ',
      view: 'nodes',
    }),
    ...when(differences.length > 0, {
      kind: 'replicasDiffer',
      severity: 'warning',
      summary: `Replicas have different settings or files: ${shortened(differences.map(({ setting }) => setting))}`,
      detail: `Clients get another answer from ${shortened(differing)} than from this replica. Copy the settings and the files that they name to all replicas.`,
      openDetail: `${differences.length === 1 ? '1 setting differs' : `${differences.length} settings differ`} between replicas`,
      view: 'nodes',
    }),
  ]
}

function secondsOf(ahead: number): string {
  return `${Math.round(Math.abs(ahead) / 1000)} s ${ahead > 0 ? 'ahead of' : 'behind'}`
}
