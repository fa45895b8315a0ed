/** A share of a whole as a bar and as percent. */
export function ShareBar({
  share,
  isApproximate = false,
}: {
  readonly share: number;
  readonly isApproximate?: boolean;
}) {
  const percent = Math.min(100, share * 100);
  const text = percent > 0 && percent < 0.01 ? '< 0.01 %' : `${Number(percent.toFixed(2))} %`;
  return (
    <span class="share">
      <span class="share-track" aria-hidden="true">
        <span class="share-fill" style={{ width: `${percent}%` }} />
      </span>
      {isApproximate ? `~${text}` : text}
    </span>
  );
}
