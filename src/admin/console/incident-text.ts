/** An incident in words: one sentence for people, Markdown for reports. Times are UTC, so that reports of several places fit. */
import type { AffectedCaller, Incident } from './incident-types.ts'

type Facts = Omit<Incident, 'text' | 'markdown'>

/** Returns a sentence about the problems and one about the requests. */
export function describeIncident({ since, until, problems, stale, failed, callers }: Facts): string {
  const time = until === undefined ? `Since ${timeOf(since)} UTC` : `From ${timeOf(since)} to ${timeOf(until)} UTC`
  const what = problems.map(({ summary }) => withoutCapital(summary)).join('; ')
  const [most] = callers
  const affected = most === undefined ? '' : `; most affected: ${most.name}`
  const served = `${counted(stale, 'request was', 'requests were')} served stale, ${stale + failed === 0 ? 'none' : failed} failed`
  return `${time}: ${what}. ${served}${affected}.`
}

export function markdownOf(incident: Facts): string {
  const { since, until, problems, stale, failed, callers, replicas } = incident
  const end = until === undefined ? 'not over' : `${stampOf(until)} (${durationOf(until - since)})`
  const rows = [
    ['Begin', stampOf(since)],
    ['End', end],
    ['Problems', problems.map(({ summary }) => summary).join('; ')],
    ['Served stale', String(stale)],
    ['Failed (5xx)', String(failed)],
    ['Seen by', replicas.join(', ')],
  ] as const
  const lines = [
    `### Incident of ${stampOf(since)}`,
    '',
    escapeMarkdown(describeIncident(incident)),
    '',
    '| | |',
    '|---|---|',
    ...rows.map(([name, value]) => `| ${name} | ${escapeMarkdown(value)} |`),
    ...(callers.length === 0
      ? []
      : ['', '| Caller | Served stale | Failed |', '|---|---:|---:|', ...callers.map(rowOf)]),
  ]
  return `${lines.join('\n')}\n`
}

function rowOf({ name, stale, failed }: AffectedCaller): string {
  return `| ${escapeMarkdown(name)} | ${stale} | ${failed} |`
}

/** Names come from clients and nodes: they must not become links, images or cells. */
function escapeMarkdown(text: string): string {
  return text.replace(/[\s\p{Cc}]+/gu, ' ').replace(/[\\`*_[\]<>|#!@]|:(?=\/\/)|(?<=\bwww)\./g, '\\$&')
}

/** A summary follows a colon. Names of nodes keep their capitals. */
function withoutCapital(summary: string): string {
  return summary.replace(/^(?:The|No|Keys)\b/, (word) => word.toLowerCase())
}

function counted(count: number, one: string, several: string): string {
  return `${count} ${count === 1 ? one : several}`
}

function stampOf(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19).replace('T', ' ')} UTC`
}

function timeOf(at: number): string {
  return new Date(at).toISOString().slice(11, 19)
}

function durationOf(ms: number): string {
  const seconds = Math.round(ms / 1000)
  const [minutes, rest] = [Math.floor(seconds / 60), seconds % 60]
  return minutes === 0 ? `${rest} s` : `${minutes} min ${rest} s`
}
