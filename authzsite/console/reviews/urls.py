"""The addresses of this area."""

from django.urls import path

from authzsite.console.reviews import (
    actions as reviews_actions,
)
from authzsite.console.reviews import (
    delegation,
    item,
    progress,
    results,
    row_members,
    start,
    worklist,
)
from authzsite.console.reviews import (
    downloads as reviews_downloads,
)
from authzsite.console.reviews import (
    views as reviews_views,
)

urlpatterns = [
    path("reviews", reviews_views.review_list, name="reviews"),
    path("reviews.csv", reviews_views.as_csv, name="reviews_csv"),
    path("reviews/count", reviews_views.count, name="reviews_count"),
    path("reviews/new", start.StartReviewView.as_view(), name="review_new"),
    path("reviews/<number:id>", worklist.worklist_page, name="review"),
    path("reviews/<number:id>/how", reviews_downloads.how, name="review_how"),
    path("reviews/<number:id>/pass", delegation.DelegationView.as_view(), name="review_pass"),
    path("reviews/<number:id>/progress", progress.progress_page, name="review_lead"),
    path("reviews/<number:id>/state", progress.state, name="review_state"),
    path("reviews/<number:id>/result", results.results_page, name="review_result"),
    path("reviews/<number:id>/print", results.paper, name="review_print"),
    path("reviews/<number:id>/rows.csv", results.as_csv, name="review_csv"),
    path("reviews/<number:id>/evidence", reviews_downloads.evidence, name="review_evidence"),
    path(
        "reviews/<number:id>/do/<slug:deed>", reviews_actions.ReviewActionView.as_view(), name="review_deed"
    ),
    path("reviews/<number:id>/rows/<number:number>", item.review_item, name="review_row"),
    path("reviews/<number:id>/rows/<number:number>/more", item.more, name="review_row_more"),
    path("reviews/<number:id>/rows/<number:number>/members", row_members.members, name="review_row_members"),
    path("reviews/<number:id>/rows/<number:number>/also", item.also, name="review_row_also"),
    path("reviews/<number:id>/rows/<number:number>/back", item.back, name="review_row_back"),
]
