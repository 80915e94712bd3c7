"""The addresses of these rooms."""

from django.urls import path

from authzsite.console.reviewing import deeds, lead, passing, result, room, row, start, take_away, work

urlpatterns = [
    path("reviews", room.room, name="reviews"),
    path("reviews.csv", room.as_csv, name="reviews_csv"),
    path("reviews/count", room.count, name="reviews_count"),
    path("reviews/new", start.room, name="review_new"),
    path("reviews/<number:id>", work.room, name="review"),
    path("reviews/<number:id>/how", take_away.how, name="review_how"),
    path("reviews/<number:id>/pass", passing.room, name="review_pass"),
    path("reviews/<number:id>/progress", lead.room, name="review_lead"),
    path("reviews/<number:id>/state", lead.state, name="review_state"),
    path("reviews/<number:id>/result", result.room, name="review_result"),
    path("reviews/<number:id>/print", result.paper, name="review_print"),
    path("reviews/<number:id>/rows.csv", result.as_csv, name="review_csv"),
    path("reviews/<number:id>/evidence", take_away.evidence, name="review_evidence"),
    path("reviews/<number:id>/do/<slug:deed>", deeds.room, name="review_deed"),
    path("reviews/<number:id>/rows/<number:number>", row.room, name="review_row"),
    path("reviews/<number:id>/rows/<number:number>/more", row.more, name="review_row_more"),
    path("reviews/<number:id>/rows/<number:number>/also", row.also, name="review_row_also"),
    path("reviews/<number:id>/rows/<number:number>/back", row.back, name="review_row_back"),
]
