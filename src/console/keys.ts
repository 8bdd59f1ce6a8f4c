/** Shortcuts of one key, never while somebody writes or a dialog is open. */
export const shortcuts = [
  ['1 2 3 4', 'Now, Cache, Nodes, Requests'],
  ['/', 'search or filter'],
  ['↑ ↓ Page Home End', 'move in the table of entries'],
  ['Enter', 'open the entry'],
  ['p', 'pause or go on (Requests)'],
  ['t', 'light or dark'],
  ['?', 'this list'],
  ['Esc', 'close'],
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
