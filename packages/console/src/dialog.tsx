/** A native dialog: it traps the focus, closes on Esc, and returns the focus. */
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'

interface DialogProps {
  readonly title: string
  /** Shown at the side with full height, for long contents. */
  readonly drawer?: boolean
  readonly children: ComponentChildren
  onClose(): void
}

export function Dialog({ title, drawer = false, children, onClose }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null)
  const heading = useId()
  useEffect(() => {
    const before = document.activeElement
    ref.current?.showModal()
    return () => {
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])
  return (
    <dialog ref={ref} class={drawer ? 'drawer' : ''} aria-labelledby={heading} onClose={onClose}>
      <div class="dialog-head">
        <h2 id={heading}>{title}</h2>
        <button type="button" class="plain" aria-label="Close" onClick={onClose}>
          ✕
        </button>
      </div>
      {children}
    </dialog>
  )
}
