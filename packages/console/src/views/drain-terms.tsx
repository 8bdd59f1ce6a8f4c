/** What an operator enters and sees before a drain: its reason, its end, and the expected load of the other nodes. */
import { expectLoad, type NodeSummary, type Nodes } from '../../server/node-types.ts'
import { formatCount, formatRate } from '../format.ts'
import { type Column, Table } from '../table.tsx'

export interface DrainTerms {
  readonly reason: string
  /** As the API takes it, such as `30m`. Empty: until an operator puts the node back. */
  readonly duration: string
}

export const NO_TERMS: DrainTerms = { reason: '', duration: '' }

const durations = [
  ['', 'Until it is put back'],
  ['30m', '30 minutes'],
  ['1h', '1 hour'],
  ['4h', '4 hours'],
  ['24h', '1 day'],
] as const

interface DrainFieldsProps {
  readonly terms: DrainTerms
  readonly maxReasonChars: number
  onChange(terms: DrainTerms): void
}

export function DrainFields({ terms, maxReasonChars, onChange }: DrainFieldsProps) {
  return (
    <div class="filters">
      <label class="wide">
        Reason (optional)
        <input
          type="text"
          value={terms.reason}
          maxLength={maxReasonChars}
          placeholder="OPS-123"
          onInput={({ currentTarget }) => onChange({ ...terms, reason: currentTarget.value })}
        />
      </label>
      <label>
        For
        <select
          value={terms.duration}
          onChange={({ currentTarget }) => onChange({ ...terms, duration: currentTarget.value })}
        >
          {durations.map(([value, title]) => (
            <option key={value} value={value}>
              {title}
            </option>
          ))}
        </select>
      </label>
    </div>
  )
}

const columns: readonly Column[] = [
  'Node',
  ['Calls per minute', 'number'],
  ['Expected', 'number'],
  ['In flight', 'number'],
]

export function ExpectedLoadTable({ node, data }: { readonly node: NodeSummary; readonly data: Nodes }) {
  const expected = expectLoad(node, data)
  if (expected.length === 0) return <p class="warning">No other node accepts calls now.</p>
  return (
    <>
      <h3>Expected load of this replica without {node.name}</h3>
      <Table label={`Expected load without ${node.name}`} columns={columns} kind="expected">
        <tbody>
          {expected.map(({ node: name, callsPerMinute, expectedPerMinute, inFlight, limit }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td class="number">{formatRate(callsPerMinute)}</td>
              <td class="number">{formatRate(expectedPerMinute)}</td>
              <td class="number">
                {formatCount(inFlight)} of {formatCount(limit)}
              </td>
            </tr>
          ))}
        </tbody>
      </Table>
      <p class="quiet">By the calls of the last five minutes, if the other nodes get equal shares.</p>
    </>
  )
}
