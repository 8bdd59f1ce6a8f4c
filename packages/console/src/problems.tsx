/** The problems of the edge: a banner on every view, and their number in the title and on the icon of the tab. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Problem } from '../../../src/status/problem-types.ts'
import type { Now } from '../server/api-types.ts'
import { clock, contact } from './api.ts'
import { capitalise, formatClock, formatDay, formatDuration } from './format.ts'
import { titles } from './route.ts'

/** A problem that the page found by itself has no kind of the edge. */
type ShownProblem = Problem | (Omit<Problem, 'kind' | 'since'> & { readonly kind: 'noConnection' })

/** Problems that are shown before the user opens the list. */
const MAX_CLOSED = 2
const severityPills = { error: ['bad', 'Error'], warning: ['warn', 'Warning'], notice: ['', 'Notice'] } as const

/** Returns the problems of the edge, or the one that the edge is unreachable: the others are then out of date. */
export function currentProblems(now: Now | undefined): readonly ShownProblem[] {
  const { error, lastResponseAt } = contact.value
  if (error === undefined) return now?.problems ?? []
  const age = Math.max(0, Math.round((clock.value - lastResponseAt) / 1000) * 1000)
  const detail = lastResponseAt === 0 ? '' : `The data below is ${formatDuration(age)} old.`
  const summary = capitalise(error)
  return [{ kind: 'noConnection', severity: 'error', summary, detail }]
}

/** Notices are states that an operator has chosen: they are shown but not counted. */
export function countProblems(problems: readonly ShownProblem[]): number {
  return problems.filter(({ severity }) => severity !== 'notice').length
}

interface BannerProps {
  readonly problems: readonly ShownProblem[]
  /** The age of the oldest response that is served while no node answers, in milliseconds. Absent: none is. */
  readonly servedAge: number | undefined
}

/** That data of before an outage is shown is always in sight, with its age, above the other problems. */
export function Banner({ problems: all, servedAge }: BannerProps) {
  const isOpen = useSignal(false)
  const outage = all.find((problem) => problem.kind === 'servedInOutage')
  const problems = all.filter((problem) => problem !== outage)
  const more = problems.length - MAX_CLOSED
  const shown = isOpen.value ? problems : problems.slice(0, MAX_CLOSED)
  return (
    <div class="problems" role="status">
      {outage !== undefined && <BannerLine problem={outage} servedAge={servedAge} />}
      {shown.map((problem) => (
        <BannerLine key={`${problem.kind} ${problem.summary}`} problem={problem} />
      ))}
      {more > 0 && (
        <button
          type="button"
          class="plain"
          aria-expanded={isOpen.value}
          onClick={() => {
            isOpen.value = !isOpen.value
          }}
        >
          {isOpen.value ? 'Show fewer' : `Show ${more} more`}
        </button>
      )}
    </div>
  )
}

function BannerLine({ problem, servedAge }: { readonly problem: ShownProblem } & Partial<BannerProps>) {
  const { severity, summary, detail, view } = problem
  const [pill, word] = severityPills[severity]
  return (
    <p class={`problem ${pill} ${problem.kind === 'servedInOutage' ? 'outage' : ''}`}>
      <span class="hidden">{word}: </span>
      <strong>{summary}.</strong>{' '}
      {servedAge !== undefined && (
        <span aria-live="off">The oldest one is {formatDuration(Math.floor(servedAge / 1000) * 1000)} old. </span>
      )}
      {detail} {problem.kind !== 'noConnection' && <Begin problem={problem} />}{' '}
      {view !== undefined && <a href={`#/${view}`}>Open {titles[view]}</a>}
    </p>
  )
}

function Begin({ problem }: { readonly problem: Problem }) {
  const since = Date.parse(problem.since)
  const day = formatDay(since) === formatDay(Date.now()) ? '' : `${formatDay(since)} `
  return <span class="quiet">{`Since ${day}${formatClock(since)}.`}</span>
}

/** Shows the title of the page with the number of problems, also on the icon. */
export function useTabTitle(title: string, problems: readonly ShownProblem[]): void {
  const count = countProblems(problems)
  const isError = problems.some(({ severity }) => severity === 'error')
  useEffect(() => {
    document.title = count === 0 ? title : `(${count}) ${title}`
  }, [title, count])
  useEffect(() => {
    const link = document.querySelector<HTMLLinkElement>('link[rel="icon"]')
    if (link === null) return
    link.dataset.plain ??= link.href
    link.href = count === 0 ? link.dataset.plain : iconWith(count, isError)
  }, [count, isError])
}

/** Returns the icon of the console with a number, as a data URL. */
function iconWith(count: number, isError: boolean): string {
  const text = count > 9 ? '9+' : String(count)
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0f6e84"/><path d="M7 11h8M7 16h8M7 21h15" stroke="#fff" stroke-width="2.6" stroke-linecap="round"/><circle cx="22" cy="10" r="10" fill="${isError ? '#b3261e' : '#855400'}"/><text x="22" y="15" text-anchor="middle" font-family="sans-serif" font-weight="700" font-size="${text.length > 1 ? 11 : 14}" fill="#fff">${text}</text></svg>`
  return `data:image/svg+xml,${encodeURIComponent(svg)}`
}
