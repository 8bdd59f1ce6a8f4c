/** Who is signed in: the name in the header, and behind it the roles and the sign-out. */
import { useSignal } from '@preact/signals'
import type { Account, SignedOut } from '../server/api-types.ts'
import './account.css'
import { callApi, signedOut, usePoll } from './api.ts'
import { Dialog } from './dialog.tsx'
import { formatDuration } from './format.ts'

/** Roles may change while the page is open. */
const POLL_INTERVAL_MS = 60_000

export function AccountButton() {
  const { data: account } = usePoll<Account>('/api/me', POLL_INTERVAL_MS)
  const isOpen = useSignal(false)
  if (signedOut.value) return <a href={signInUrl()}>Sign in</a>
  if (account === undefined) return null
  const roles = describeRoles(account)
  return (
    <>
      <button
        type="button"
        class="plain account"
        aria-haspopup="dialog"
        title={`${account.user}: ${roles}`}
        onClick={() => {
          isOpen.value = true
        }}
      >
        <span class="account-name">{account.user}</span> <span class="quiet account-roles">{roles}</span>
      </button>
      {isOpen.value && (
        <AccountDialog
          account={account}
          onClose={() => {
            isOpen.value = false
          }}
        />
      )}
    </>
  )
}

function AccountDialog({ account, onClose }: { readonly account: Account; onClose(): void }) {
  const { user, issuer, roles, permissions, session } = account
  const error = useSignal('')
  const signOut = async (): Promise<void> => {
    try {
      const { next } = await callApi<SignedOut>('/sign-out', {})
      location.assign(next)
    } catch (cause) {
      error.value = (cause as Error).message
    }
  }
  return (
    <Dialog title="Signed in" onClose={onClose}>
      <dl class="pairs">
        <div>
          <dt>User</dt>
          <dd>{user}</dd>
        </div>
        <div>
          <dt>Signed in by</dt>
          <dd>{issuer ?? 'this edge'}</dd>
        </div>
        <div>
          <dt>Roles</dt>
          <dd>{roles === null ? 'not known: the credentials are a token' : describeRoles(account)}</dd>
        </div>
        <div>
          <dt>Permissions</dt>
          <dd>{permissions.includes('*') ? 'all' : permissions.join(', ')}</dd>
        </div>
        {session && (
          <div>
            <dt>Session ends in</dt>
            <dd>{formatDuration(Math.round(session.endsIn / 60_000) * 60_000)}</dd>
          </div>
        )}
      </dl>
      {session === undefined ? (
        <p>
          The browser, or a proxy in front of the edge, sends your credentials with each request. To sign out, close all
          windows of the browser.
        </p>
      ) : (
        <button type="button" class="account-leave" onClick={() => void signOut()}>
          Sign out
        </button>
      )}
      {error.value !== '' && <p class="warning">The session has not ended: {error.value}.</p>}
    </Dialog>
  )
}

function describeRoles({ roles, permissions }: Account): string {
  if (roles === null) return `${permissions.length} permissions`
  return roles.length === 0 ? 'no role' : roles.join(', ')
}

/** The page for signing in leads back to this view. */
function signInUrl(): string {
  return `/sign-in?return=${encodeURIComponent(`/console/${location.hash}`)}`
}
