/** Shortcuts of one key. They do nothing during typing and while a dialog is open. */
export const SHORTCUTS = [
  ['1 2 3 4', 'open Now, Cache, Nodes, Requests'],
  ['/', 'focus the search field'],
  ['← → Page Home End', 'read the values of a focused chart'],
  ['↑ ↓ Page Home End', 'move in the table of entries'],
  ['Enter', 'open the selected entry'],
  ['p', 'pause or resume (Requests)'],
  ['t', 'switch between light and dark'],
  ['?', 'show this list'],
  ['Esc', 'close a dialog'],
] as const

export function onKey(actions: Readonly<Record<string, () => void>>): () => void {
  const listen = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const { target } = event
    if (target instanceof Element && target.closest('input, select, textarea, dialog') !== null) return
    const action = Object.hasOwn(actions, event.key) ? actions[event.key] : undefined
    if (action === undefined) return
    event.preventDefault()
    action()
  }
  addEventListener('keydown', listen)
  return () => removeEventListener('keydown', listen)
}
