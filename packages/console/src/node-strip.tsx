/** One line for each node: its state, its calls in flight and its queue. */
import type { NodeLoad } from '../server/api-types.ts'
import { formatCount } from './format.ts'
import { describeDrain, Load, NodeState } from './node-state.tsx'

const MAX_SHOWN = 24

/** Nodes that are not up come first, because a large cluster is not shown as a whole. */
export function NodeStrip({ nodes }: { readonly nodes: readonly NodeLoad[] }) {
  const sorted = [...nodes.filter(({ state }) => state !== 'up'), ...nodes.filter(({ state }) => state === 'up')]
  const more = sorted.length - MAX_SHOWN
  return (
    <section class="strip" aria-labelledby="strip">
      <h2 id="strip">
        Nodes <span class="quiet">calls of this replica in flight, and queued</span>
      </h2>
      <ul>
        {sorted.slice(0, MAX_SHOWN).map((node) => (
          <StripNode key={node.name} node={node} />
        ))}
      </ul>
      {more > 0 && <p class="quiet">and {formatCount(more)} more</p>}
    </section>
  )
}

function StripNode({ node: { name, state, inFlight, limit, queue, drain } }: { readonly node: NodeLoad }) {
  return (
    <li>
      <span class="strip-name">{name}</span>
      {state !== 'up' && <NodeState state={state} />}
      <span class="strip-load">
        <Load value={inFlight} of={limit} />
        {formatCount(inFlight)} / {formatCount(limit)}
      </span>
      <span class={queue > 0 ? 'strip-queue warn' : 'strip-queue quiet'}>{formatCount(queue)} queued</span>
      {drain !== undefined && <span class="strip-drain quiet">{describeDrain(drain)}</span>}
    </li>
  )
}
