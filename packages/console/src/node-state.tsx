/** The state of a node as a pill, and its load as a bar. */
import type { NodeSummary } from '../server/node-types.ts'
import { formatAge } from './format.ts'

const pillOf: Readonly<Record<NodeSummary['state'], string>> = {
  up: 'good',
  'not tried': '',
  failing: 'warn',
  hangs: 'bad',
  stuck: 'bad',
  drained: '',
  ejected: 'bad',
  'cut off': 'bad',
  full: 'warn',
  'no address': '',
  'not listed': 'warn',
}

export function NodeState({ state }: Pick<NodeSummary, 'state'>) {
  return <span class={`pill ${pillOf[state]}`}>{state}</span>
}

/** Who has drained a node, why, and until when. */
export function describeDrain({ by, ago, reason, endsIn }: NonNullable<NodeSummary['drain']>): string {
  const end = endsIn === undefined ? '' : `, ${formatAge(endsIn)} more`
  return `${reason === undefined ? '' : `${reason}, `}by ${by}, ${formatAge(ago)} ago${end}`
}

/** Calls in flight as a share of the limit. */
export function Load({ value, of }: { readonly value: number; readonly of: number }) {
  const width = of === 0 ? 0 : Math.min(40, (40 * value) / of)
  return (
    <svg class="load" width="40" height="8" aria-hidden="true">
      <rect class="load-all" width="40" height="8" rx="2" />
      <rect class="load-used" width={width} height="8" rx="2" />
    </svg>
  )
}
