/** The last answers that were joined of what several nodes gave: which node gave how many rows, how soon, or why none. */
import type { JoinedLine, Nodes, ShareLine } from '../../admin/console/api-types.ts'
import { count, time } from '../format.ts'
import { type Column, Table } from '../table.tsx'

/** Lines, and nodes of a line, that are shown. */
const LINES = 20
const NODES = 12
const SECOND = 1000

interface Line extends JoinedLine {
  readonly replica: string
}

interface JoinedProps {
  readonly data: Nodes
  /** The name of this replica. */
  readonly self: string
}

export function Joined({ data, self }: JoinedProps) {
  const others = data.replicas ?? []
  const lines = linesOf(data, self)
  if (lines.length === 0) {
    return <p class="quiet">None yet: they are shown when nodes are asked, not when they come out of the cache.</p>
  }
  return (
    <Table label="Last joined answers" columns={columnsOf(others.length > 0)} kind="joined">
      <tbody>
        {lines.map((line, at) => (
          <JoinedRow key={at} line={line} several={others.length > 0} />
        ))}
      </tbody>
    </Table>
  )
}

/** What the node gave to the last of them that it was asked for. */
export function lastShare(joined: readonly JoinedLine[], name: string): (ShareLine & { ago: number }) | undefined {
  for (const { ago, nodes } of joined) {
    const share = nodes.find(({ node }) => node === name)
    if (share !== undefined) return { ...share, ago }
  }
  return undefined
}

export function rowsOf({ rows, total, error }: Pick<ShareLine, 'rows' | 'total' | 'error'>): string {
  if (rows === undefined || total === undefined) return error ?? 'none'
  return rows === total ? count(rows) : `${count(rows)} of ${count(total)}`
}

/** To the second: who reads it sees it grow. */
export function sinceWhen(ago: number): string {
  return `${time(Math.floor(ago / SECOND) * SECOND)} ago`
}

function linesOf({ joined, replicas }: Nodes, self: string): readonly Line[] {
  const own = joined.map((line) => ({ ...line, replica: self }))
  const others = (replicas ?? []).flatMap(({ name, joined = [] }) => joined.map((line) => ({ ...line, replica: name })))
  return [...own, ...others].sort((a, b) => a.ago - b.ago).slice(0, LINES)
}

function columnsOf(several: boolean): readonly Column[] {
  return ['When', ...(several ? ['Replica'] : []), 'Request', ['Took', 'number'], ['Rows', 'number'], 'From each node']
}

function JoinedRow({ line, several }: { readonly line: Line; readonly several: boolean }) {
  const { ago, replica, route, ms, nodes } = line
  const sum = (of: (share: ShareLine) => number | undefined) => nodes.reduce((all, share) => all + (of(share) ?? 0), 0)
  return (
    <tr>
      <td class="quiet">{sinceWhen(ago)}</td>
      {several && <td>{replica}</td>}
      <th scope="row" class="mono">
        GET {route}
      </th>
      <td class="number">{time(ms)}</td>
      <td class="number">{rowsOf({ rows: sum(({ rows }) => rows), total: sum(({ total }) => total) })}</td>
      <td>
        <Shares nodes={nodes} />
      </td>
    </tr>
  )
}

/** Those that failed first: of many nodes they are what one looks for. */
function Shares({ nodes }: { readonly nodes: readonly ShareLine[] }) {
  const shown = [...nodes].sort((a, b) => rank(a) - rank(b)).slice(0, NODES)
  return (
    <ul class="shares">
      {shown.map((share) => (
        <li key={share.node}>
          {share.node} <span class={share.error === undefined ? 'quiet' : 'bad'}>{saidBy(share)}</span>
        </li>
      ))}
      {nodes.length > NODES && <li class="quiet">and {count(nodes.length - NODES)} more</li>}
    </ul>
  )
}

function rank({ error }: ShareLine): number {
  return error === undefined ? 1 : 0
}

function saidBy(share: ShareLine): string {
  const { rows, error, ms } = share
  if (rows === undefined) return rowsOf(share)
  const how = ms === undefined ? 'kept' : time(ms)
  return [rowsOf(share), how, ...(error === undefined ? [] : [error])].join(', ')
}
