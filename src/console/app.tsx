/** The frame around the views: navigation, state of the edge, and warnings. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Now } from '../admin/console/api-types.ts'
import { clock, contact, usePoll } from './api.ts'
import { Dialog } from './dialog.tsx'
import { formatDuration } from './format.ts'
import { onKey, SHORTCUTS } from './keys.ts'
import { navigate, route, type View, views } from './route.ts'
import { isDark, toggleTheme } from './theme.ts'
import { CacheView } from './views/cache.tsx'
import { NodesView } from './views/nodes.tsx'
import { NowView } from './views/now.tsx'
import { RequestsView } from './views/requests.tsx'

const titles: Readonly<Record<View, string>> = { now: 'Now', cache: 'Cache', nodes: 'Nodes', requests: 'Requests' }
const POLL_INTERVAL_MS = 2000

export function App() {
  const now = usePoll<Now>('/api/now', POLL_INTERVAL_MS)
  const help = useSignal(false)
  const { view } = route.value
  useEffect(
    () =>
      onKey({
        ...Object.fromEntries(views.map((each, at) => [String(at + 1), () => navigate(each)])),
        t: toggleTheme,
        '?': () => {
          help.value = true
        },
        '/': () => document.querySelector<HTMLElement>('[data-search]')?.focus(),
      }),
    [help],
  )
  useEffect(() => {
    document.title = `${titles[view]} · ${now.data?.edge.name ?? 'Manager Edge'}`
  }, [view, now.data?.edge.name])
  return (
    <>
      <button type="button" class="skip" onClick={() => document.getElementById('main')?.focus()}>
        Skip to content
      </button>
      <Header
        now={now.data}
        onHelp={() => {
          help.value = true
        }}
      />
      <Warnings now={now.data} />
      <main id="main" tabIndex={-1}>
        {view === 'now' && <NowView now={now.data} />}
        {view === 'cache' && <CacheView now={now.data} />}
        {view === 'nodes' && <NodesView now={now.data} />}
        {view === 'requests' && <RequestsView />}
      </main>
      {help.value && (
        <Help
          onClose={() => {
            help.value = false
          }}
        />
      )}
    </>
  )
}

interface HeaderProps {
  readonly now: Now | undefined
  onHelp(): void
}

function Header({ now, onHelp }: HeaderProps) {
  const { view } = route.value
  return (
    <header class="bar">
      <div class="brand">
        <strong>Manager Edge</strong>
        <span class="quiet">{now === undefined ? '' : `${now.edge.name} · ${now.edge.version}`}</span>
      </div>
      <nav aria-label="Views">
        {views.map((each) => (
          <a key={each} href={`#/${each}`} aria-current={each === view ? 'page' : undefined}>
            {titles[each]}
          </a>
        ))}
      </nav>
      <div class="tools">
        <StatePill now={now} />
        <button
          type="button"
          class="plain"
          onClick={toggleTheme}
          aria-label={isDark() ? 'Light colours' : 'Dark colours'}
        >
          {isDark() ? '☀' : '☾'}
        </button>
        <button type="button" class="plain" aria-label="Keyboard shortcuts" onClick={onHelp}>
          ?
        </button>
      </div>
    </header>
  )
}

function StatePill({ now }: { readonly now: Now | undefined }) {
  const { error } = contact.value
  if (error !== undefined) return <span class="pill bad">no connection</span>
  if (now === undefined) return <span class="pill">loading …</span>
  return now.edge.ready ? <span class="pill good">ready</span> : <span class="pill bad">not ready</span>
}

/** What is unreachable or off, in plain words, and the age of the shown data. */
function Warnings({ now }: { readonly now: Now | undefined }) {
  const { error, lastResponseAt } = contact.value
  const messages: string[] = []
  if (error !== undefined) {
    const age =
      lastResponseAt === 0
        ? ''
        : ` The data below is ${formatDuration(Math.max(0, Math.round((clock.value - lastResponseAt) / 1000) * 1000))} old.`
    messages.push(`${error.charAt(0).toUpperCase()}${error.slice(1)}.${age}`)
  } else if (now !== undefined) {
    if (!now.edge.ready)
      messages.push(`Not ready: ${now.edge.reasons.join(', ')}. Load balancers send no requests to this replica.`)
    if (now.cache.unreachable === true) {
      const reason = now.cache.lastEvent?.reason
      messages.push(
        `Redis is unreachable${reason === undefined ? '' : ` (${reason})`}: requests go to the nodes, and little is cached.`,
      )
    }
    const { fault, pendingRestart } = now.configuration
    if (fault !== undefined)
      messages.push(`The changed configuration is not valid, and the last valid one stays in use: ${fault}`)
    if (pendingRestart.length > 0)
      messages.push(`Changed settings that take effect after a restart only: ${pendingRestart.join(', ')}.`)
    if (!now.cache.enabled) messages.push('The cache is disabled: every request goes to the nodes.')
  }
  return (
    <div class="warnings" role="status">
      {messages.map((each) => (
        <p key={each} class="warning">
          {each}
        </p>
      ))}
    </div>
  )
}

function Help({ onClose }: { onClose(): void }) {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <dl class="pairs">
        {SHORTCUTS.map(([keys, action]) => (
          <div key={keys}>
            <dt>
              {keys.split(' ').map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{action}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}
